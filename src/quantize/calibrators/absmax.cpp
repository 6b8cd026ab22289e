// SPDX-License-Identifier: Apache-2.0
#include "quantize/calibrators/calibrator.h"

namespace narrowgauge {

namespace {

Range choose_absmax(const Histogram& histogram, const RangeOptions& options, double) {
  return whole_range(histogram, options);
}

}  // namespace

}  // namespace narrowgauge

NG_CALIBRATOR(absmax, "absmax", "all values that were seen", {}, narrowgauge::choose_absmax)
