// SPDX-License-Identifier: Apache-2.0
// The tables and the JSON of bench --kernels.
#pragma once

#include <string>

#include "cli/common/json.h"
#include "narrowgauge/bench.h"

namespace narrowgauge::cli {

std::string kernel_text(const KernelRow& row, const PeakRates& peaks);
JsonObject kernels_json(const KernelOutcome& outcome);

}  // namespace narrowgauge::cli
