// SPDX-License-Identifier: Apache-2.0
// How far a matrix product lies from the exact one, or two results from each other, in units in the
// last place:
//
//   const Tensor d = simulate_product(*unit, a, b);
//   const UlpStatistics error = ulp_against(d, exact_product(a, b));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Every element as high + low, |low| <= ulp(high) / 2, with its sum of magnitudes |c| + sum |a||b|.
// If an operand is not finite, high is what IEEE arithmetic gives and low is 0.
struct ExactProduct {
  std::vector<double> high, low, magnitude;  // one for each element, in the order of the tensor
};

// c + a b of the numbers as they are, in double-double with an error of about 2^-104 of the sum of
// magnitudes. Shapes are those of simulate_product(); c, if there is one, has the result's. The
// same bits for any number of threads. Throws UsageError for shapes that do not fit.
NG_API ExactProduct exact_product(const Tensor& a, const Tensor& b, const Tensor* c = nullptr);

// The exact product rounded once, to nearest even.
NG_API Tensor round_exact(const ExactProduct& exact, DType dtype, const Dims& dims);

// Differences are in ulp of the second number. Their sign is that of growing magnitude: below 0 is
// towards zero. The histogram counts them by size: place 7 is equal, places 8 to 14 are away from
// zero by up to each of `ulp_edges`, the last by more, and places 6 to 0 the same towards zero.
inline constexpr std::array<double, 6> ulp_edges{1, 2, 4, 16, 64, 256};
inline constexpr std::size_t ulp_places = 2 * ulp_edges.size() + 3;  // of the histogram
inline constexpr std::size_t equal_place = ulp_places / 2;           // where equal numbers count

// How far the elements of a result lie from the second numbers, those of the exact product or of
// another result.
struct NG_API UlpStatistics {
  std::int64_t count = 0, equal = 0;  // all elements; finite ones that are equal
  std::int64_t below = 0, above = 0;  // of numbers that are not equal
  std::int64_t nearer_zero = 0;       // of numbers that are not equal: the first is nearer zero
  // An infinity or NaN in one of the two, or the same in both: not compared.
  std::int64_t one_not_finite = 0, both_not_finite = 0;  // infinity or NaN: unlike; the same
  double mean = 0, largest = 0;  // of |difference|, in ulp; over finite ones
  std::int64_t largest_at = 0;   // index of the element
  double drift = 0;              // mean with its sign: below 0 towards zero
  // Differences relative to the sums of magnitudes |c| + sum |a||b|, if these are known: the
  // largest, the root mean square, and the mean, positive away from zero.
  double relative = 0, deviation = 0, bias = 0;      // by sum of magnitudes: largest, RMS, mean
  std::array<std::int64_t, ulp_places> histogram{};  // of finite elements, by the places above

  // Elements that were not compared.
  std::int64_t not_finite() const { return one_not_finite + both_not_finite; }
  // Elements that are not the same, an infinity or NaN in one of the two included.
  std::int64_t differing() const { return count - equal - both_not_finite; }
  // A number of elements as a share of all, 0 ... 1; 0 if there are none.
  double share(std::int64_t part) const {
    return count ? static_cast<double>(part) / static_cast<double>(count) : 0;
  }
};

// `equal` means a result that the exact one rounds to. `result` has the product's shape.
NG_API UlpStatistics ulp_against(const Tensor& result, const ExactProduct& exact);
// The differences of two tensors of one shape, in ulp of the narrower format.
NG_API UlpStatistics ulp_between(const Tensor& result, const Tensor& other);

}  // namespace narrowgauge
