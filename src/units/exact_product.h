// SPDX-License-Identifier: Apache-2.0
// The product that units approximate: sums in double-double, with an error of about 2^-104 of sum
// |a||b| (two_sum: Knuth, TAOCP 2, 4.2.2; products of f64 with an FMA's remainder).
#pragma once

#include <cstdint>

#include "narrowgauge/ulp.h"

namespace narrowgauge::sim {

// a [rows, depth] and b [depth, columns], dense.
struct ExactSize {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

// c [rows, columns] may be nullptr. The same bits for any number of threads.
ExactProduct exact_product(const ExactSize& size, const double* a, const double* b,
                           const double* c = nullptr);

// high + low as a double that any further rounding to at most 51 bits treats like the sum itself:
// towards zero, and odd if that was inexact (Boldo and Melquiond, 2008).
double rounded_to_odd(double high, double low);

}  // namespace narrowgauge::sim
