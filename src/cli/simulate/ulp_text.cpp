// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/ulp_text.h"

#include <fmt/format.h>

#include "cli/common/text.h"

namespace narrowgauge::cli {

std::string ulp_place_name(std::size_t place) {
  if (place == equal_place) return "equal";
  const bool nearer = place < equal_place;
  const std::size_t step = nearer ? equal_place - 1 - place : place - equal_place - 1;
  const auto number = [&](double edge) { return concat(nearer ? "-" : "+", edge); };
  if (step == 0) return concat("up to ", number(ulp_edges[0]));
  if (step == ulp_edges.size()) return concat("beyond ", number(ulp_edges.back()));
  return concat("up to ", number(ulp_edges[step]));
}

std::string not_finite_text(const UlpStatistics& statistics) {
  if (statistics.not_finite() == 0) return "";
  return fmt::format(
      "{} of {} results are infinite or NaN and compared with nothing: {} in both, "
      "{} in one alone",
      grouped(statistics.not_finite()), grouped(statistics.count),
      grouped(statistics.both_not_finite), grouped(statistics.one_not_finite));
}

void add_fields(JsonObject& json, const UlpStatistics& statistics) {
  json.add("elements", statistics.count).add("equal", statistics.equal);
  json.add("below", statistics.below).add("above", statistics.above);
  json.add("nearer_zero", statistics.nearer_zero).add("not_comparable", statistics.not_finite());
  json.add("not_finite_in_both", statistics.both_not_finite);
  json.add("mean_ulp", statistics.mean).add("drift_ulp", statistics.drift);
  json.add("largest_ulp", statistics.largest).add("largest_at", statistics.largest_at);
  if (statistics.relative > 0) {
    json.add("largest_relative", statistics.relative).add("deviation", statistics.deviation);
    json.add("bias", statistics.bias);
  }
  JsonObject histogram;
  for (std::size_t place = 0; place < ulp_places; ++place)
    histogram.add(ulp_place_name(place), statistics.histogram[place]);
  json.add("histogram", histogram);
}

}  // namespace narrowgauge::cli
