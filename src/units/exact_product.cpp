// SPDX-License-Identifier: Apache-2.0
#include "units/exact_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/parallel.h"

namespace narrowgauge::sim {
namespace {

// The columns that are summed together, whose sums stay in L1.
constexpr std::int64_t strip = 64;

struct Sums {
  std::array<double, strip> high{}, low{}, magnitude{};
};

// Adds x * b[0 .. count) to the sums; vectorizes over the columns.
void add_products(Sums& sums, double x, const double* b, std::int64_t count) {
  const double size = std::fabs(x);
  for (std::int64_t j = 0; j < count; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const double product = x * b[j], rest = std::fma(x, b[j], -product);
    const double high = sums.high[at], sum = high + product, back = sum - high;
    sums.low[at] += ((high - (sum - back)) + (product - back)) + rest;
    sums.high[at] = sum;
    sums.magnitude[at] += size * std::fabs(b[j]);
  }
}

void store(const Sums& sums, std::int64_t count, std::int64_t to, ExactProduct& result) {
  for (std::int64_t j = 0; j < count; ++j) {
    const auto from = static_cast<std::size_t>(j), at = static_cast<std::size_t>(to + j);
    const double high = sums.high[from] + sums.low[from];
    const double low = (sums.high[from] - high) + sums.low[from];
    const bool finite = std::isfinite(high);
    // If a sum is not finite the remainders are NaN, also for infinities.
    result.high[at] = finite ? high : sums.high[from];
    result.low[at] = finite ? low : 0;
    result.magnitude[at] = sums.magnitude[from];
  }
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
      Sums sums;
      for (std::int64_t j = 0; c && j < wide; ++j) {
        const double start = c[row * size.columns + first + j];
        sums.high[static_cast<std::size_t>(j)] = start;
        sums.magnitude[static_cast<std::size_t>(j)] = std::fabs(start);
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
