// SPDX-License-Identifier: Apache-2.0
// The product that units approximate: sums in double-double, about 2^-104 of sum |a||b| from the
// truth (two_sum: Knuth, TAOCP 2, 4.2.2; products of f64 with an FMA's remainder).
#pragma once

#include <cstdint>
#include <vector>

namespace narrowgauge::sim {

// a [rows, depth] and b [depth, columns], dense.
struct ExactSize {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

// Of every element high + low, |low| <= ulp(high) / 2, and the sum of magnitudes |c| + sum |a||b|.
// Where an operand is not finite high is what IEEE arithmetic gives and low is 0.
struct ExactProduct {
  std::vector<double> high, low, magnitude;
};

// c [rows, columns] may be nullptr. The same bits for any number of threads.
ExactProduct exact_product(const ExactSize& size, const double* a, const double* b,
                           const double* c = nullptr);

// high + low as a double such that one rounding to a format of at most 51 bits rounds the sum
// itself: towards zero, and odd where that was inexact (Boldo and Melquiond, 2008).
double rounded_to_odd(double high, double low);

}  // namespace narrowgauge::sim
