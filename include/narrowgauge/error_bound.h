// SPDX-License-Identifier: Apache-2.0
// How far a matrix unit's c + sum over k of a[k] b[k] can lie from the exact sum, and how far it
// usually lies, from its model alone.
//
// Notation: S = |c| + sum |a||b|; K the depth; L products are added at once in n = ceil(K / L)
// operations; F fractional bits; p bits of the result's mantissa.
//
// The bound, for units that cut (Summation::truncated). Each operation has a common exponent e, the
// largest of its terms' exponents. A product's exponent is ea + eb with a significand in [1, 4),
// c's has one in [1, 2): 2^e is at most the largest |term|, so at most S, as long as no operand is
// subnormal (its exponent stays the format's least, e_min: then 2^e <= 2^e_min max(|a|, |b|), or
// 2^floor). The largest term has fewer bits than F and is exact; each other term loses less than
// 2^(e-F), towards zero. An operation on m products loses less than m 2^(e-F), the first one,
// without c, less than (m - 1) 2^(e-F). The sum then loses less than 2^-p of itself by cutting,
// half of that by rounding to nearest. Cutting makes nothing larger, so every partial sum is at
// most S, and
//
//   |error| <= (K 2^-F + n 2^-p) S                                  (f32, cut)
//   |error| <= (K 2^-F + n 2^-(p+1)) (1 + 2^-(p+1))^n S            (f16, to nearest)
//
// Chains of IEEE operations: m roundings on a term's path give gamma_m = m u / (1 - m u), u = 2^-24
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1): K for a chain of FMAs,
// ceil(K/4) + 4 for four chains, ceil(log2 K) + 2 for a tree, 17 + n for AMX. Results that
// underflow add their format's least number for each operation; where subnormals count as zero, the
// least normal number, and 2^-126 max(|a|, |b|) for each product. Operands that are rounded first
// have a relative error of v = 2^-(q+1) to nearest (q bits), 2^-q if cut: (1 + v)^2 - 1 on top, and
// K 2^(e_min-q) max(|a|, |b|) for those that become subnormal.
//
// The expectation follows the partial sums through the operations for products of independent
// random operands. The distribution of their exponents follows from the operands'. A term that is
// cut by r bits loses (1 - 2^-r) / 2 units of the cut on average, all of it if it is smaller. For
// products of one sign these losses add up: the error is a bias that grows with n. For products of
// both signs they cancel except for their variance, while the cut of the sum itself always points
// to zero, as far as the sum is large: sums after i and j steps of a random walk have correlation
// sqrt(i/j). Rounding to nearest is a random walk with variance ulp^2 / 12 per step, so errors grow
// with sqrt(n) and not n (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019).
#pragma once

#include <cstdint>

#include "narrowgauge/export.h"
#include "narrowgauge/matrix_unit.h"

namespace narrowgauge::sim {

// How operands wider than the unit's format are brought to it; `none`: they have it already.
enum class OperandRounding : std::uint8_t { none, nearest, truncated };

// A sum of products, as far as its error depends on it.
struct Contraction {
  std::int64_t depth = 0;                            // K: products in each sum
  bool has_c = false;                                // whether a c is added to them
  OperandRounding operands = OperandRounding::none;  // of wider operands, to the unit's format
};

// |error| <= relative S + per_operand max(|a|, |b|) + absolute, as long as nothing overflows.
struct NG_API ErrorBound {
  double relative = 0, per_operand = 0, absolute = 0;  // times S; times max(|a|, |b|); alone
  // The bound for a sum with this S and this max(|a|, |b|).
  double of(double sum_of_magnitudes, double largest_operand) const {
    return relative * sum_of_magnitudes + per_operand * largest_operand + absolute;
  }
};
// The bound for a unit, for all operands; 0 for integers, infinite where a chain of IEEE operations
// is too deep for gamma_m.
NG_API ErrorBound error_bound(const UnitModel& unit, const Contraction& contraction);

enum class RandomOperands : std::uint8_t { normal, uniform };  // N(0, 1), U(0, 1)

// The expected error of the sum of K products, relative to S: the root mean square, and the mean,
// positive away from zero (negative: results are too small). Rounding of operands is not included.
// 0 for integers, block formats and f64, whose errors are 0 or not modelled here.
struct ExpectedError {
  double deviation = 0, bias = 0;  // root mean square and mean, relative to S
};
// The error to expect of sums of `depth` products of independent operands, without c.
NG_API ExpectedError expected_error(const UnitModel& unit, std::int64_t depth,
                                    RandomOperands operands);

}  // namespace narrowgauge::sim
