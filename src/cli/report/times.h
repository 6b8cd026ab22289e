// SPDX-License-Identifier: Apache-2.0
// Where the time of training steps goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/trace.h"

namespace narrowgauge::cli {

// A bar for each kind of op, and a table of kernels.
std::string times_html(const std::vector<ProfileRow>& rows, std::int64_t steps);

}  // namespace narrowgauge::cli
