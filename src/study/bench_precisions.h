// SPDX-License-Identifier: Apache-2.0
// What both benchmarks settle first: the precision behind "auto", and the machine's peaks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "study/rounds.h"

namespace narrowgauge {

// The precision that a short measurement settles for each network; nothing where "auto" is not
// asked for.
using Settled = std::map<std::string, SettledPrecision>;
Settled settle_precisions(const BenchRun& run);
// The precision itself, or what "auto" stands for.
std::string settled_precision(const Settled& settled, const std::string& model,
                              const std::string& precision);

// The machine's peaks, each the better of this measurement and an earlier one; takes a second.
PeakRates measure_rates(const BenchRun& run, const std::optional<PeakRates>& earlier);

}  // namespace narrowgauge
