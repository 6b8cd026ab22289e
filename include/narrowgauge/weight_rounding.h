// SPDX-License-Identifier: Apache-2.0
// How updates round weights that have no master in f32.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"

namespace narrowgauge {

// An update computes in f32 and rounds its result to the format of the weight. Steps smaller than
// half a unit in the last place of a weight are lost where each is rounded to nearest.
enum class WeightRounding : std::uint8_t {
  nearest,     // to nearest, ties to even: small steps are lost
  stochastic,  // up or down so that the mean over many draws is exact; a function of seed, step,
               // name of the parameter and element
  kahan        // to nearest, and what is lost is kept in a second number of the weight's format,
         // with which the next update goes on (Zamirai et al., "Revisiting BFloat16 Training",
         // 2020)
};
NG_API std::string_view name(WeightRounding rounding);  // "nearest", "stochastic", "kahan"
// The inverse of name(); throws UsageError.
NG_API WeightRounding parse_weight_rounding(std::string_view text);
NG_API std::vector<std::string_view> weight_rounding_names();  // all of them

}  // namespace narrowgauge
