// SPDX-License-Identifier: Apache-2.0
// How fast the units of this CPU multiply and add with operands in the first-level cache, and how
// fast memory is: what no kernel can beat, measured. Data is random: the tiles of AMX run a fifth
// faster on zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu {

// f32: fused multiply-add; bf16: AMX where it is, else AVX512_BF16; int16: VNNI, products added in
// pairs; int8: AMX where it is, else VNNI.
enum class Unit { f32, bf16, int16, int8 };

// Operations (multiplications and additions) a second of all threads of the caller together; 0
// where isa() has no such unit. Of each thread the best of short tries in about so many seconds, by
// the time that it had a core: a busy neighbour does not make the peak low.
double measure_unit(Unit unit, double seconds);

// Bytes a second from and to memory, read and written: a large copy with stores that pass the
// caches by. The best of short tries in about so many seconds.
double measure_memory(double seconds);

// What the loops multiply, 64-byte aligned. The layout is no matter: every element is random.
inline constexpr std::int64_t peak_bytes = 12288;

// Each goes `rounds` times over a and b and returns the operations done; the sums are thrown away.
namespace avx512 {
std::int64_t peak_f32(const std::byte* a, const std::byte* b, std::int64_t rounds);
std::int64_t peak_bf16(const std::byte* a, const std::byte* b, std::int64_t rounds);
std::int64_t peak_int16(const std::byte* a, const std::byte* b, std::int64_t rounds);
std::int64_t peak_int8(const std::byte* a, const std::byte* b, std::int64_t rounds);
}  // namespace avx512
namespace amx {
std::int64_t peak_bf16(const std::byte* a, const std::byte* b, std::int64_t rounds);
std::int64_t peak_int8(const std::byte* a, const std::byte* b, std::int64_t rounds);
}  // namespace amx

}  // namespace narrowgauge::cpu
