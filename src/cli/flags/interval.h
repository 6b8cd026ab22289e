// SPDX-License-Identifier: Apache-2.0
// How often something is done, as flags say it: "20" or "20steps", "30s", "5min", "2h", "1epoch".
#pragma once

#include <cstdint>
#include <string>

namespace narrowgauge::cli {

struct Interval {
  std::int64_t steps = 0;  // one of the three is above 0
  double seconds = 0;
  std::int64_t epochs = 0;
};

// Throws UsageError naming the flag.
Interval parse_interval(const char* flag, const std::string& text);

}  // namespace narrowgauge::cli
