// SPDX-License-Identifier: Apache-2.0
// A way to choose the range of a value from its histogram. Each is a stem in this folder that the
// build finds by its mark.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/stem_table.h"
#include "quantize/range.h"

namespace narrowgauge {

// The number in parentheses behind the name of a calibrator.
struct CalibratorParameter {
  std::string_view name;
  double usual = 0, above = 0, most = 0;  // above < number <= most
};

struct Calibrator {
  std::string_view name, help;
  std::optional<CalibratorParameter> parameter;
  // Chooses a range by a histogram that is not empty. `parameter` is 0 for a calibrator that takes
  // none.
  Range (*choose)(const Histogram& histogram, const RangeOptions& options, double parameter);
};

std::vector<const Calibrator*> calibrators();

// The range from the least value to the most, with 0.
Range whole_range(const Histogram& histogram, const RangeOptions& options);
// The part of the whole range that is no farther than `limit` from 0.
Range clipped_range(const Histogram& histogram, const RangeOptions& options, double limit);

}  // namespace narrowgauge

// NG_CALIBRATOR(stem, name, help, parameter, choose) enters a calibrator.
#define NG_CALIBRATOR(stem, ...) NG_STEM(calibrator_table, Calibrator, stem, __VA_ARGS__)
