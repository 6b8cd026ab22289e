// SPDX-License-Identifier: Apache-2.0
// The line of a terminal that says what a benchmark does at the moment.
#pragma once

#include <string>

#include "narrowgauge/bench.h"

namespace narrowgauge::cli {

std::string status_text(const BenchStatus& status, std::int64_t batch);

}  // namespace narrowgauge::cli
