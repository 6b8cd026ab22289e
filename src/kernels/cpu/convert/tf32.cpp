// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/convert/tf32.h"

#include <bit>

#include "base/threads/parallel.h"

namespace narrowgauge::cpu {

namespace {

constexpr std::uint32_t exponent = 0x7f80'0000;
constexpr std::uint32_t quiet = 0x0040'0000;
constexpr std::uint32_t dropped = 0x1fff;  // mantissa bits that TF32 lacks
constexpr std::int64_t rounded_each = 16384;

// Has no branches, so that the loops below vectorize.
std::uint32_t rounded_to_tf32(std::uint32_t bits) {
  const bool is_nan = (bits & 0x7fff'ffff) > exponent;
  const std::uint32_t nearest = bits + (dropped >> 1) + (bits >> 13 & 1);
  return (is_nan ? bits | quiet : nearest) & ~dropped;
}

bool is_finite(std::uint32_t bits) { return (bits & exponent) != exponent; }

// Rounds subnormals too, in integers, since a run flushes them.
std::uint32_t finite_rounded(std::uint32_t bits) {
  const std::uint32_t nearest = rounded_to_tf32(bits);
  return is_finite(bits) && !is_finite(nearest) ? bits & ~dropped : nearest;
}

}  // namespace

void round_to_tf32(const float* in, float* out, std::int64_t count) {
  parallel_for(count, rounded_each, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = std::bit_cast<float>(rounded_to_tf32(std::bit_cast<std::uint32_t>(in[i])));
  });
}

void split_tf32(const float* in, float* high, float* low, std::int64_t count) {
  parallel_for(count, rounded_each, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = in[i];
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const auto first = std::bit_cast<float>(finite_rounded(bits));
      const std::uint32_t rest = rounded_to_tf32(std::bit_cast<std::uint32_t>(value - first));
      high[i] = first;
      low[i] = std::bit_cast<float>(is_finite(bits) ? rest : 0);
    }
  });
}

void add_corrections(const float* a, const float* b, float* sums, std::int64_t count) {
  parallel_for(count, rounded_each, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float sum = sums[i];
      const float corrected = sum + (a[i] + b[i]);
      sums[i] = is_finite(std::bit_cast<std::uint32_t>(sum)) ? corrected : sum;
    }
  });
}

}  // namespace narrowgauge::cpu
