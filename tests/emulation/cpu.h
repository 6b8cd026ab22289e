// SPDX-License-Identifier: Apache-2.0
// Included by force before src/base/machine/cpu.cpp: this CPU with AVX-512 and AMX, whose tiles the
// kernel grants to all that ask.
#pragma once

#include <cpuid.h>
#include <immintrin.h>
#include <unistd.h>

#include <cstdint>

namespace narrowgauge {

#undef _xgetbv
inline std::uint64_t _xgetbv(unsigned) {
  constexpr std::uint64_t vectors = 0b1110'0110, tiles = 0b11 << 17;
  return vectors | tiles;
}

inline int __get_cpuid_count(unsigned leaf, unsigned subleaf, unsigned* eax, unsigned* ebx,
                             unsigned* ecx, unsigned* edx) {
  const int known = ::__get_cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
  if (leaf == 7 && subleaf == 0) {
    *ebx |= bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    *ecx |= bit_AVX512VNNI;
    *edx |= bit_AMX_TILE | bit_AMX_BF16 | bit_AMX_INT8;
  }
  if (leaf == 7 && subleaf == 1) *eax |= 1U << 5;  // AVX512_BF16
  return known;
}

inline long syscall(long, ...) { return 0; }

}  // namespace narrowgauge
