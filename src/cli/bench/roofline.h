// SPDX-License-Identifier: Apache-2.0
// The table and the JSON of a roofline, and of the machine's peaks.
#pragma once

#include <string>

#include "cli/common/json.h"
#include "narrowgauge/bench.h"

namespace narrowgauge::cli {

std::string roofline_text(const BenchRow& row, const PeakRates& rates);
JsonObject roofline_json(const BenchRow& row, const PeakRates& rates);
std::string peaks_text(const PeakRates& rates);  // "measured peaks: ..."
std::string rates_text(const PeakRates& rates);
JsonObject rates_json(const PeakRates& rates);

}  // namespace narrowgauge::cli
