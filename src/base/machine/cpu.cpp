// SPDX-License-Identifier: Apache-2.0
#include "base/machine/cpu.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/environment.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::array<std::string_view, 5> isa_names{"avx2", "avx512", "vnni", "bf16", "amx"};

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool is_amd() {
  const Registers vendor = cpuid(0);
  return vendor.ebx == signature_AMD_ebx && vendor.ecx == signature_AMD_ecx &&
         vendor.edx == signature_AMD_edx;
}

constexpr bool all_of(std::uint64_t value, std::uint64_t wanted) {
  return (value & wanted) == wanted;
}

// Bits of XCR0: which registers the kernel saves (Intel SDM volume 1, 13.3).
constexpr std::uint64_t ymm_state = 0b110;
constexpr std::uint64_t zmm_state = 0b1110'0110;
constexpr unsigned tile_data = 18;
constexpr std::uint64_t tile_state = 0b11ULL << 17;

// Linux grants the 8 KiB of tile registers only on request, for the whole process and threads that
// it starts later (Documentation/arch/x86/xstate.rst).
bool tiles_granted() {
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Isa detect() {
  const Registers basic = cpuid(1), extended = cpuid(7);
  constexpr unsigned fma_osxsave_avx_f16c = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C;
  const bool saves = all_of(basic.ecx, bit_OSXSAVE);
  const std::uint64_t state = saves ? _xgetbv(0) : 0;
  require<DeviceError>(all_of(basic.ecx, fma_osxsave_avx_f16c) &&
                           all_of(extended.ebx, bit_AVX2 | bit_BMI2) && all_of(state, ymm_state),
                       "cpu: AVX2, FMA, F16C and BMI2 are needed, ", cpu_name(), " lacks them");
  constexpr unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  if (!all_of(extended.ebx, avx512) || !all_of(state, zmm_state)) return Isa::avx2;
  if (!all_of(extended.ecx, bit_AVX512VNNI)) return Isa::avx512;
  constexpr unsigned avx512_bf16 = 1U << 5;  // of leaf 7, subleaf 1
  if (!all_of(cpuid(7, 1).eax, avx512_bf16)) return Isa::vnni;
  constexpr unsigned amx = bit_AMX_TILE | bit_AMX_BF16 | bit_AMX_INT8;
  const bool tiles = all_of(extended.edx, amx) && all_of(extended.ecx, bit_AVX512VBMI) &&
                     all_of(state, tile_state) && tiles_granted();
  if (tiles) return Isa::amx;
  return is_amd() ? Isa::bf16 : Isa::vnni;
}

}  // namespace

std::string_view name(Isa isa) { return isa_names[static_cast<std::size_t>(isa)]; }

Isa detected_isa() {
  static const Isa detected = detect();
  return detected;
}

Isa parse_isa(std::string_view text) {
  const auto found = std::find(isa_names.begin(), isa_names.end(), text);
  require(found != isa_names.end(), "expected avx2, avx512, vnni, bf16 or amx, got \"", text, '"');
  return static_cast<Isa>(found - isa_names.begin());
}

Isa capped(Isa detected, std::string_view cap) try {
  return std::min(detected, parse_isa(cap));
} catch (const UsageError& error) {
  throw UsageError(concat("NARROWGAUGE_ISA: ", error.what()));
}

Isa isa() {
  const std::string cap = environment("ISA");
  return cap.empty() ? detected_isa() : capped(detected_isa(), cap);
}

std::string cpu_name() {
  constexpr unsigned first = 0x80000002;  // three leaves of 16 characters
  if (__get_cpuid_max(0x80000000, nullptr) < first + 2) return "unknown x86-64 CPU";
  std::array<char, 49> text{};
  for (unsigned part = 0; part < 3; ++part) {
    const Registers r = cpuid(first + part);
    std::memcpy(text.data() + 16 * part, &r, sizeof r);
  }
  std::string result = text.data();
  const std::size_t begin = result.find_first_not_of(' ');
  if (begin == std::string::npos) return "unknown x86-64 CPU";
  return result.substr(begin, result.find_last_not_of(' ') + 1 - begin);
}

std::int64_t memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace narrowgauge
