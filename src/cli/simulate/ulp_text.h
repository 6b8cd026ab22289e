// SPDX-License-Identifier: Apache-2.0
// Differences in ulp as people read them, and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "cli/common/json.h"
#include "narrowgauge/ulp.h"

namespace narrowgauge::cli {

std::string ulp_place_name(std::size_t place);  // of the histogram: "-4 to -2", "equal"

// "3 of 64 results are infinite or NaN and compared with nothing: 2 in both, 1 in one alone"; "" if
// there are none.
std::string not_finite_text(const UlpStatistics& statistics);

void add_fields(JsonObject& json, const UlpStatistics& statistics);

}  // namespace narrowgauge::cli
