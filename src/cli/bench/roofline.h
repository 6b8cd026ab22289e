// SPDX-License-Identifier: Apache-2.0
// Where the time of a training step goes, and how near it comes to what the machine can do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/doctor.h"
#include "cli/bench/task.h"
#include "cli/common/json.h"

namespace narrowgauge::cli {

// Measures the machine's peaks, in about a second; each is the better of this measurement and an
// earlier one.
PeakRates measure_rates(const std::optional<PeakRates>& earlier);

// The kernels of one kind in one step, or all of them.
struct RooflineGroup {
  std::string name;
  double milliseconds = 0, flops = 0, bytes = 0;
  // FLOPs at the measured peak of their math mode, plus bytes at the measured bandwidth.
  double bound_milliseconds = 0;
};

struct Roofline {
  std::vector<RooflineGroup> groups;  // in the order of the network, those that ran
  RooflineGroup total;
  double step_milliseconds = 0;  // whole, with what lies between the kernels
  // Has the same FLOPs, but the bytes of the most fused plan (api/most_fused.h), whatever plan ran.
  RooflineGroup fused;
};
Roofline roofline(const BenchRow& row, const PeakRates& rates);

std::string roofline_text(const BenchRow& row, const PeakRates& rates);
JsonObject roofline_json(const BenchRow& row, const PeakRates& rates);
std::string peaks_text(const PeakRates& rates);  // "measured peaks: ..."
std::string rates_text(const PeakRates& rates);
JsonObject rates_json(const PeakRates& rates);

}  // namespace narrowgauge::cli
