// SPDX-License-Identifier: Apache-2.0
// Where the time of kernels went, as `train --profile` and `run --profile` print it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/trace.h"

namespace narrowgauge::cli {

// The name of an op without the domain of ours.
std::string short_name(const std::string& op);
// Whether the kernels of a row ran on the matrix unit: "yes", "no", or "-" where there is no
// telling.
std::string matrix_unit_text(const ProfileRow& row);

// What was profiled.
struct Rounds {
  std::int64_t count = 0;
  std::string_view one, all;  // "a step", "steps"
};
// Prints a table, and where the trace is; as JSON a line {"event":"profile",...}.
void print_profile(const std::vector<ProfileRow>& rows, const Rounds& rounds,
                   const std::string& trace, bool as_json);

}  // namespace narrowgauge::cli
