// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/weight_rounding.h"

#include <algorithm>
#include <array>

#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {
constexpr std::array<std::string_view, 3> names{"nearest", "stochastic", "kahan"};
}

std::string_view name(WeightRounding rounding) {
  return names.at(static_cast<std::size_t>(rounding));
}

WeightRounding parse_weight_rounding(std::string_view text) {
  const auto found = std::ranges::find(names, text);
  require(found != names.end(), "weight rounding: expected nearest, stochastic or kahan, got '",
          text, "'");
  return static_cast<WeightRounding>(found - names.begin());
}

std::vector<std::string_view> weight_rounding_names() { return {names.begin(), names.end()}; }

}  // namespace narrowgauge
