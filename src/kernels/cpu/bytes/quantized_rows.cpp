// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_rows.h"

#include <immintrin.h>

#include <cstring>

#include "base/cpu.h"

namespace narrowgauge::cpu {
namespace avx2 {
namespace {

constexpr std::int64_t most_rows = 6;

[[gnu::always_inline]] inline __m256i widened(const std::byte* bytes) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

template <int rows>
void multiply(const QuantizedProduct& p) {
  __m256i sums[rows][2];
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  const std::byte* panel = p.panel;
  const std::byte* pairs = p.rows;
  for (std::int64_t g = 0; g < p.groups; ++g, panel += 32, pairs += 4) {
    const __m256i left = widened(panel), right = widened(panel + 16);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, pairs + r * p.row_bytes, sizeof pair);
      const __m256i row = _mm256_set1_epi32(pair);
      sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(row, left));
      sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(row, right));
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) {
    auto* const to = reinterpret_cast<__m256i*>(p.sums + r * quantized_panel);
    _mm256_storeu_si256(to, sums[r][0]);
    _mm256_storeu_si256(to + 1, sums[r][1]);
  }
}

}  // namespace

void quantized_multiply(const QuantizedProduct& product) {
  static constexpr void (*of_rows[most_rows])(const QuantizedProduct&) = {
      multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>};
  of_rows[product.row_count - 1](product);
}

}  // namespace avx2

const QuantizedTier& quantized_tier() {
  static constexpr QuantizedTier vnni{
      "int8 rows, vnni", Isa::vnni, quantized_most_rows, 4, false, avx512::quantized_multiply};
  static constexpr QuantizedTier plain{"int8 rows, avx2",       Isa::avx2, avx2::most_rows, 2, true,
                                       avx2::quantized_multiply};
  return isa() >= Isa::vnni ? vnni : plain;
}

namespace {

std::int32_t sum_of(__m256i sums) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}

}  // namespace

void store_wide(const std::byte* x, std::int64_t count, const QuantizedSource& source,
                std::byte* row, std::int32_t* sum) {
  const __m256i zero = _mm256_set1_epi16(static_cast<std::int16_t>(source.zero));
  __m256i sums = _mm256_setzero_si256();
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    const __m256i wide =
        source.is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    const __m256i stored = _mm256_sub_epi16(wide, zero);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + 2 * i), stored);
    if (sum) sums = _mm256_add_epi32(sums, _mm256_madd_epi16(stored, _mm256_set1_epi16(1)));
  }
  std::int32_t rest = 0;
  for (; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(x[i]);
    const std::int32_t value = source.is_signed ? static_cast<std::int8_t>(byte) : byte;
    const auto stored = static_cast<std::int16_t>(value - source.zero);
    std::memcpy(row + 2 * i, &stored, sizeof stored);
    rest += stored;
  }
  if (sum) *sum += sum_of(sums) + rest;
}

void store_narrow(const std::byte* x, std::int64_t count, const QuantizedSource& source,
                  std::byte* row, std::int32_t* sum) {
  const std::byte flip{source.is_signed ? std::uint8_t{0x80} : std::uint8_t{0}};
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
  __m256i sums = _mm256_setzero_si256();
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i stored =
        _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i)), flips);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + i), stored);
    // The sums of eight bytes fit into the lower half of each 64-bit sum.
    if (sum) sums = _mm256_add_epi32(sums, _mm256_sad_epu8(stored, _mm256_setzero_si256()));
  }
  std::int32_t rest = 0;
  for (; i < count; ++i) {
    row[i] = x[i] ^ flip;
    rest += static_cast<std::int32_t>(row[i]);
  }
  if (sum) *sum += sum_of(sums) + rest;
}

}  // namespace narrowgauge::cpu
