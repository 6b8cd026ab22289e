// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_rows.h"

#include <immintrin.h>

#include <cstring>

#include "base/machine/cpu.h"

namespace narrowgauge::cpu {
namespace avx2 {
namespace {

constexpr std::int64_t most_rows = 6;

[[gnu::always_inline]] inline __m256i widened_row(const std::byte* bytes) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

template <int rows>
void store_rows(const __m256i (&sums)[rows][2], std::int32_t* to) {
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) {
    auto* const row = reinterpret_cast<__m256i*>(to + r * quantized_panel);
    _mm256_storeu_si256(row, sums[r][0]);
    _mm256_storeu_si256(row + 1, sums[r][1]);
  }
}

template <int rows>
void multiply_pairs(const QuantizedProduct& p) {
  __m256i sums[rows][2];
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  const std::byte* panel = p.columns.weights;
  const std::byte* pairs = p.rows;
  for (std::int64_t g = 0; g < p.columns.groups; ++g, panel += 32, pairs += 4) {
    const __m256i left = widened_row(panel), right = widened_row(panel + 16);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, pairs + r * p.row_bytes, sizeof pair);
      const __m256i row = _mm256_set1_epi32(pair);
      sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(row, left));
      sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(row, right));
    }
  }
  store_rows(sums, p.sums);
}

template <int rows>
void multiply_fours(const QuantizedProduct& p) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[rows][2];
#pragma GCC unroll 6
  for (int r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  const auto* weights = reinterpret_cast<const __m256i*>(p.columns.weights);
  for (std::int64_t g = 0; g < p.columns.groups; ++g, weights += 2) {
    const __m256i left = _mm256_loadu_si256(weights), right = _mm256_loadu_si256(weights + 1);
    const std::byte* const fours = p.rows + p.columns.places[g];
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
      std::int32_t four;
      std::memcpy(&four, fours + r * p.row_bytes, sizeof four);
      const __m256i row = _mm256_set1_epi32(four);
      const __m256i of_left = _mm256_maddubs_epi16(row, left),
                    of_right = _mm256_maddubs_epi16(row, right);
      sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(of_left, ones));
      sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(of_right, ones));
    }
  }
  store_rows(sums, p.sums);
}

using Multiply = void (*)(const QuantizedProduct& product);

void pairs(const QuantizedProduct& product) {
  static constexpr Multiply of_rows[most_rows] = {multiply_pairs<1>, multiply_pairs<2>,
                                                  multiply_pairs<3>, multiply_pairs<4>,
                                                  multiply_pairs<5>, multiply_pairs<6>};
  of_rows[product.row_count - 1](product);
}

void fours(const QuantizedProduct& product) {
  static constexpr Multiply of_rows[most_rows] = {multiply_fours<1>, multiply_fours<2>,
                                                  multiply_fours<3>, multiply_fours<4>,
                                                  multiply_fours<5>, multiply_fours<6>};
  of_rows[product.row_count - 1](product);
}

}  // namespace
}  // namespace avx2

const QuantizedTier& quantized_tier() {
  static constexpr QuantizedTier vnni{.name = "int8 rows, vnni",
                                      .isa = Isa::vnni,
                                      .rows = quantized_most_rows,
                                      .panels = quantized_most_panels,
                                      .group = 4,
                                      .wide = false,
                                      .saturates = false,
                                      .takes_starts = true,
                                      .multiply = avx512::quantized_multiply};
  static constexpr QuantizedTier plain{.name = "int8 rows, avx2",
                                       .isa = Isa::avx2,
                                       .rows = avx2::most_rows,
                                       .group = 2,
                                       .wide = true,
                                       .saturates = false,
                                       .multiply = avx2::pairs};
  return isa() >= Isa::vnni ? vnni : plain;
}

const QuantizedTier* quantized_saturating_tier() {
  static constexpr QuantizedTier tier{.name = "int8 rows of fours, avx2",
                                      .isa = Isa::avx2,
                                      .rows = avx2::most_rows,
                                      .group = 4,
                                      .wide = false,
                                      .saturates = true,
                                      .multiply = avx2::fours};
  return isa() >= Isa::vnni ? nullptr : &tier;
}

namespace {

std::int32_t sum_of_lanes(__m256i sums) {
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
  if (sum) *sum += sum_of_lanes(sums) + rest;
}

void store_narrow(const std::byte* x, std::int64_t count, const QuantizedSource& source,
                  std::byte* row, std::int32_t* sum) {
  if (!source.is_signed && !sum) {
    std::memcpy(row, x, static_cast<std::size_t>(count));
    return;
  }
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
  if (sum) *sum += sum_of_lanes(sums) + rest;
}

}  // namespace narrowgauge::cpu
