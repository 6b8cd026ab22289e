// SPDX-License-Identifier: Apache-2.0
// Our conversions against the CPU's own instructions, bit for bit.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "tensor/values.h"

namespace narrowgauge::cpu_conversions_test {
namespace {

using Batch = std::array<std::uint32_t, 8>;  // patterns of f32

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
bool is_subnormal(std::uint32_t bits) { return (bits & 0x7fffffff) < 0x00800000; }

std::array<std::uint16_t, 8> cpu_to_f16(const Batch& batch) {
  const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(batch.data()));
  std::array<std::uint16_t, 8> result;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(result.data()),
                   _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
  return result;
}

__attribute__((target("avx512f,avx512vl,avx512bf16"))) std::array<std::uint16_t, 8> cpu_to_bf16(
    const Batch& batch) {
  const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(batch.data()));
  return std::bit_cast<std::array<std::uint16_t, 8>>(_mm256_cvtneps_pbh(values));
}

// Odd: every value of the low bits comes up.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t stride = 409;
#else
constexpr std::uint64_t stride = 29;
#endif

template <class Check>
void for_dense_stride(Check check) {
  Batch batch;
  for (std::uint64_t first = 0; first < 1ULL << 32; first += 8 * stride) {
    for (std::size_t i = 0; i < 8; ++i) batch[i] = static_cast<std::uint32_t>(first + i * stride);
    if (!check(batch)) return;
  }
}

// Around the middle between each pattern of a 16-bit format and the next: the tie and its f32
// neighbours. All NaNs, infinities and overflows are among them.
template <class Narrow, class Check>
void for_ties(Check check) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const double here = widen(Narrow{static_cast<std::uint16_t>(pattern)});
    const double next = widen(Narrow{static_cast<std::uint16_t>(pattern ^ 1)});
    const std::uint32_t middle = as_bits(static_cast<float>((here + next) / 2));
    const double after = widen(Narrow{static_cast<std::uint16_t>(pattern + 1)});
    const std::uint32_t other = as_bits(static_cast<float>((here + after) / 2));
    const std::uint32_t exact = as_bits(static_cast<float>(here));
    if (!check(
            Batch{middle - 1, middle, middle + 1, other - 1, other, other + 1, exact, exact ^ 1}))
      return;
  }
}

bool f16_agrees(const Batch& batch) {
  const auto expected = cpu_to_f16(batch);
  for (std::size_t i = 0; i < 8; ++i) {
    const f16 ours = narrow<f16>(as_float(batch[i]));
    if (ours.bits == expected[i]) continue;
    ADD_FAILURE() << std::hex << "f32 " << batch[i] << ": cpu " << expected[i] << ", ours "
                  << ours.bits;
    return false;
  }
  return true;
}

// VCVTNEPS2BF16's one exception: it takes subnormal f32, which are bf16's subnormals too, as zeros
// whatever MXCSR says. We keep them.
bool bf16_agrees(const Batch& batch) {
  const auto expected = cpu_to_bf16(batch);
  for (std::size_t i = 0; i < 8; ++i) {
    const bf16 ours = narrow<bf16>(as_float(batch[i]));
    const bool excepted = is_subnormal(batch[i]);
    const bool zero_as_known = (expected[i] & 0x7fff) == 0;
    if (excepted ? zero_as_known : ours.bits == expected[i]) continue;
    ADD_FAILURE() << std::hex << "f32 " << batch[i] << ": cpu " << expected[i] << ", ours "
                  << ours.bits;
    return false;
  }
  return true;
}

TEST(narrow_f16, equals_the_cpu_on_a_dense_stride_over_all_floats) { for_dense_stride(f16_agrees); }

TEST(narrow_f16, equals_the_cpu_on_all_ties) {
  for_ties<f16>(f16_agrees);
  for_ties<bf16>(f16_agrees);
}

TEST(narrow_bf16, equals_the_cpu_but_for_subnormals) {
  if (!__builtin_cpu_supports("avx512bf16")) GTEST_SKIP() << "this CPU has no avx512_bf16";
  for_dense_stride(bf16_agrees);
  for_ties<bf16>(bf16_agrees);
}

// Independent of the CPU: bf16 is the upper half of f32, so adding just under half rounds.
TEST(narrow_bf16, rounds_the_upper_half_of_float) {
  const auto check = [](const Batch& batch) {
    for (const std::uint32_t bits : batch) {
      const bool nan = (bits & 0x7fffffff) > 0x7f800000;
      const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
      const std::uint32_t expected = nan ? (bits >> 16 | 0x40) : rounded;
      if (narrow<bf16>(as_float(bits)).bits == expected) continue;
      ADD_FAILURE() << std::hex << "f32 " << bits;
      return false;
    }
    return true;
  };
  for_dense_stride(check);
  for_ties<bf16>(check);
}

TEST(widen_f16, equals_the_cpu_on_every_pattern) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const float cpu = _mm_cvtss_f32(_mm_cvtph_ps(_mm_set1_epi16(static_cast<short>(pattern))));
    ASSERT_EQ(as_bits(widen(f16{static_cast<std::uint16_t>(pattern)})), as_bits(cpu))
        << std::hex << pattern;
  }
}

TEST(widen_bf16, is_the_upper_half_of_float_with_quiet_nans) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const bool nan = (pattern & 0x7fff) > 0x7f80;
    ASSERT_EQ(as_bits(widen(bf16{static_cast<std::uint16_t>(pattern)})),
              (nan ? pattern | 0x40 : pattern) << 16)
        << std::hex << pattern;
  }
}

TEST(narrow_float, equals_the_cpu_from_double) {
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    // Every second exponent lies in the range of f32 and its subnormals; ties are frequent.
    std::uint64_t bits = state ^ state >> 31;
    if (i % 2) bits = (bits & 0x800f'ffff'ffff'ffff) | (0x365 + state % 0x120) << 52;
    if (i % 3 == 0) bits &= ~0x0fff'ffffULL;
    const auto value = std::bit_cast<double>(bits);
    const auto cpu = static_cast<float>(value);
    ASSERT_EQ(as_bits(narrow<float>(value)), as_bits(cpu)) << std::hex << bits;
  }
}

}  // namespace
}  // namespace narrowgauge::cpu_conversions_test
