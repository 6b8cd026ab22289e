// SPDX-License-Identifier: Apache-2.0
// How fast the units of this CPU multiply and add with operands in the first-level cache, and how
// fast memory is: measured limits for every kernel. Data is random, since AMX tiles run a fifth
// faster on zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace narrowgauge::cpu {

// f32: fused multiply-add; bf16: AMX if the CPU has it, else AVX512_BF16; int16: VNNI, products
// added in pairs; int8: AMX if the CPU has it, else VNNI.
enum class Unit { f32, bf16, int16, int8 };

// Operations (multiplications and additions) a second of all the caller's threads together; 0 if
// isa() has no such unit. For each thread the best of short tries in about `seconds`, by the time
// it had a core, so that a busy neighbour does not lower the peak.
double measure_unit(Unit unit, double seconds);

// Bytes a second read from and written to memory: a large copy with stores that bypass the caches.
// The best of short tries in about `seconds`.
double measure_memory(double seconds);

// Bytes of a loop's operands, 64-byte aligned. Layout does not matter: all elements are random.
inline constexpr std::int64_t peak_bytes = 12288;

// Each loop goes `rounds` times over a and b and returns the operations done; sums are discarded.
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
