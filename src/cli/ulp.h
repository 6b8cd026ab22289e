// SPDX-License-Identifier: Apache-2.0
// How far results lie from the exact product or from each other, in units in the last place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/json.h"
#include "kernels/sim/exact_product.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::cli {

// Differences in ulp of the second number; the sign is that of growing magnitude, so below 0 is
// towards zero. Places 0 to 6 are towards zero, 7 is equal, 8 to 14 are away.
inline constexpr std::size_t ulp_places = 15;
std::string ulp_place_name(std::size_t place);  // "-4 to -2", "equal"

struct UlpStatistics {
  std::int64_t count = 0, equal = 0;
  std::int64_t below = 0, above = 0;  // of numbers that are not equal
  std::int64_t nearer_zero = 0;
  // An infinity or NaN in one of the two, or the same in both: not compared.
  std::int64_t one_not_finite = 0, both_not_finite = 0;
  double mean = 0, largest = 0;  // of |difference|, in ulp; over finite ones
  std::int64_t largest_at = 0;   // index of the element
  double drift = 0;              // mean with its sign: below 0 towards zero
  // Differences relative to the sums of magnitudes |c| + sum |a||b|, if these are known: the
  // largest, the root mean square, and the mean, positive away from zero.
  double relative = 0, deviation = 0, bias = 0;
  std::array<std::int64_t, ulp_places> histogram{};

  std::int64_t not_finite() const { return one_not_finite + both_not_finite; }
  std::int64_t differing() const { return count - equal - both_not_finite; }
  double share(std::int64_t part) const {
    return count ? static_cast<double>(part) / static_cast<double>(count) : 0;
  }
};

// The exact product rounded once, to nearest even.
Tensor round_exact(const sim::ExactProduct& exact, DType dtype, const Dims& dims);

// `equal` means a result that the exact one rounds to.
UlpStatistics ulp_against(const Tensor& result, const sim::ExactProduct& exact);
UlpStatistics ulp_between(const Tensor& result, const Tensor& other);

// "3 of 64 results are infinite or NaN and compared with nothing: 2 in both, 1 in one alone"; "" if
// there are none.
std::string not_finite_text(const UlpStatistics& statistics);

void add_fields(JsonObject& json, const UlpStatistics& statistics);

}  // namespace narrowgauge::cli
