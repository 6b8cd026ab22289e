// SPDX-License-Identifier: Apache-2.0
// The range of the numbers that a quantised value can take, and how calibrators choose it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quantize/histogram.h"

namespace narrowgauge {

// Contains 0.
struct Range {
  float low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

struct RangeOptions {
  bool symmetric = false;  // low = -high, as for a zero point of 0
  int levels = 256;        // how many numbers there are: 255 where -128 is not used
};
inline constexpr RangeOptions symmetric_range{.symmetric = true, .levels = 255};

// The range that a calibrator such as "entropy" or "percentile(99.9)" chooses; {0, 0} for values of
// which none is finite. Throws UsageError naming the calibrators there are.
Range choose_range(std::string_view calibrator, const Histogram& histogram,
                   const RangeOptions& options);
void check_calibrator(std::string_view text);  // throws the same
std::string calibrator_help();                 // names and what they do
// All there are, with their usual numbers: "absmax", "percentile(99.99)".
std::vector<std::string> usual_calibrators();

}  // namespace narrowgauge
