// SPDX-License-Identifier: Apache-2.0
#include "units/exact_product.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/threads/parallel.h"

namespace narrowgauge::sim {
namespace {

// The columns that are summed together, whose sums stay in L1.
constexpr std::int64_t strip = 64;

struct StripSums {
  double high[strip] = {}, low[strip] = {}, magnitude[strip] = {};
};

// Adds x * b[0 .. count) to the sums; vectorizes over the columns.
void add_products(StripSums& sums, double x, const double* b, std::int64_t count) {
  const double size = std::fabs(x);
  for (std::int64_t j = 0; j < count; ++j) {
    const double product = x * b[j], rest = std::fma(x, b[j], -product);
    const double high = sums.high[j], sum = high + product, back = sum - high;
    sums.low[j] += ((high - (sum - back)) + (product - back)) + rest;
    sums.high[j] = sum;
    sums.magnitude[j] += size * std::fabs(b[j]);
  }
}

void store(const StripSums& sums, std::int64_t count, std::int64_t to, ExactProduct& result) {
  double* const to_high = result.high.data() + to;
  double* const to_low = result.low.data() + to;
  for (std::int64_t j = 0; j < count; ++j) {
    const double high = sums.high[j] + sums.low[j];
    const double low = (sums.high[j] - high) + sums.low[j];
    const bool finite = std::isfinite(high);
    // If a sum is not finite the remainders are NaN, also for infinities.
    to_high[j] = finite ? high : sums.high[j];
    to_low[j] = finite ? low : 0;
  }
  std::copy_n(sums.magnitude, count, result.magnitude.data() + to);
}

}  // namespace

ExactProduct exact_product(const ExactSize& size, const double* a, const double* b,
                           const double* c) {
  const auto count = static_cast<std::size_t>(size.rows * size.columns);
  ExactProduct result{std::vector<double>(count), std::vector<double>(count),
                      std::vector<double>(count)};
  const std::int64_t strips = (size.columns + strip - 1) / strip;
  parallel_for(size.rows * strips, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t row = piece / strips, first = piece % strips * strip;
      const std::int64_t wide = std::min(strip, size.columns - first);
      StripSums sums;
      for (std::int64_t j = 0; c && j < wide; ++j) {
        const double start = c[row * size.columns + first + j];
        sums.high[j] = start;
        sums.magnitude[j] = std::fabs(start);
      }
      for (std::int64_t k = 0; k < size.depth; ++k)
        add_products(sums, a[row * size.depth + k], b + k * size.columns + first, wide);
      store(sums, wide, row * size.columns + first, result);
    }
  });
  return result;
}

double rounded_to_odd(double high, double low) {
  if (low == 0 || !std::isfinite(high)) return high;
  const auto bits = std::bit_cast<std::uint64_t>(high);
  // Towards zero: one unit down if the rest points back.
  const std::uint64_t cut = (low < 0) != (high < 0) ? bits - 1 : bits;
  return std::bit_cast<double>(cut | 1);
}

}  // namespace narrowgauge::sim
