// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "quantize/calibrators/calibrator.h"

namespace narrowgauge {

namespace {

// The value below which so many of those in the bins lie, which are spread evenly inside each bin.
double quantile(const std::vector<HistogramBin>& bins, double wanted) {
  double before = 0;
  for (const auto& [low, high, count] : bins) {
    const auto inside = static_cast<double>(count);
    if (before + inside >= wanted) {
      const double share = std::clamp((wanted - before) / inside, 0.0, 1.0);
      return double{low} + share * (double{high} - double{low});
    }
    before += inside;
  }
  return bins.back().high;
}

Range choose_percentile(const Histogram& histogram, const RangeOptions& options,
                        double percentage) {
  const double share = percentage / 100, count = static_cast<double>(histogram.count());
  if (options.symmetric) {
    const double limit = quantile(histogram.magnitudes().bins(), share * count);
    return clipped_range(histogram, options, limit);
  }
  const std::vector<HistogramBin> bins = histogram.bins();
  const double low = quantile(bins, (1 - share) / 2 * count);
  const double high = quantile(bins, (1 + share) / 2 * count);
  return {static_cast<float>(std::min(low, 0.0)), static_cast<float>(std::max(high, 0.0))};
}

}  // namespace

}  // namespace narrowgauge

NG_CALIBRATOR(percentile, "percentile",
              "so many of 100 values, by size or, with a zero point, without both tails",
              narrowgauge::CalibratorParameter{"percentage", 99.99, 0, 100},
              narrowgauge::choose_percentile)
