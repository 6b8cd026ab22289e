// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "quantize/calibrators/calibrator.h"

namespace narrowgauge {

namespace {

constexpr int linear_bins = 2048;
using Counts = std::vector<double>;  // whole numbers

// Absolute values other than 0 in bins of equal width up to the largest. Those of a bin of the
// histogram lie at equal distances in it, so that all counts are whole, as those of samples are.
Counts linear_counts(const std::vector<HistogramBin>& bins, double width) {
  Counts counts(linear_bins);
  for (const auto& [low, high, count] : bins) {
    if (high == 0) continue;
    const double begin = double{low} / width, end = double{high} / width;
    const int first = std::min(static_cast<int>(begin), linear_bins - 1);
    const int last = std::min(static_cast<int>(end), linear_bins - 1);
    const auto all = static_cast<double>(count);
    double before = 0;
    for (int i = first; i < last; ++i) {
      const double until = std::floor(all * (i + 1 - begin) / (end - begin) + 0.5);
      counts[static_cast<std::size_t>(i)] += until - before;
      before = until;
    }
    counts[static_cast<std::size_t>(last)] += all - before;
  }
  return counts;
}

double times_log(double x) { return x > 0 ? x * std::log(x) : 0; }

// The divergence of the values from what a clip and so many levels leave of them, for clips behind
// any bin (S. Migacz, 8-bit inference with TensorRT, GTC 2017): P are the counts, with all that are
// clipped in the last bin; Q has the mean of a level in each of its bins that is not empty.
class Divergence {
 public:
  Divergence(const Counts& counts, int levels)
      : counts_(counts), levels_(levels), values_(1), logs_(1), filled_(1) {
    for (const double count : counts) {
      values_.push_back(values_.back() + count);
      logs_.push_back(logs_.back() + times_log(count));
      filled_.push_back(filled_.back() + (count > 0 ? 1 : 0));
    }
  }

  // The divergence where the first `bins` bins are kept; infinite where they are all empty, or
  // values are clipped into an empty one.
  double operator()(int bins) const {
    const auto end = static_cast<std::size_t>(bins);
    const double all = values_.back(), kept = values_[end], clipped = all - kept;
    const double last = counts_[end - 1];
    if (kept == 0 || (clipped > 0 && last == 0)) return std::numeric_limits<double>::infinity();
    double sum = logs_[end] - times_log(last) + times_log(last + clipped);
    for (int level = 0; level < levels_; ++level) {
      const std::size_t begin = border(level, bins), next = border(level + 1, bins);
      const double inside = values_[next] - values_[begin];
      if (inside == 0) continue;
      const double here = inside + (next == end ? clipped : 0);
      sum -= here * std::log(inside / (filled_[next] - filled_[begin]));
    }
    return sum / all - std::log(all) + std::log(kept);
  }

 private:
  // The first bin of a level: bin i belongs to level i * levels / bins, cut to a whole number.
  std::size_t border(int level, int bins) const {
    return static_cast<std::size_t>((level * bins + levels_ - 1) / levels_);
  }

  const Counts& counts_;
  int levels_;
  Counts values_, logs_, filled_;  // sums up to each bin: of counts, of count * log(count), of bins
};

// How many numbers a side of the range has.
int levels_of(const Histogram& histogram, const RangeOptions& options) {
  const bool one_sign = histogram.least() >= 0 || histogram.most() <= 0;
  return !options.symmetric && one_sign ? options.levels : (options.levels + 1) / 2;
}

// Zeros do not count: every range has them.
Range choose_entropy(const Histogram& histogram, const RangeOptions& options, double) {
  const Histogram magnitudes = histogram.magnitudes();
  const double most = magnitudes.most(), width = most / linear_bins;
  if (most == 0) return {};
  const Counts counts = linear_counts(magnitudes.bins(), width);
  const int levels = std::min(levels_of(histogram, options), linear_bins);
  const Divergence divergence(counts, levels);
  int best = linear_bins;
  double least = divergence(best);
  for (int bins = linear_bins - 1; bins >= levels; --bins)
    if (const double found = divergence(bins); found < least) least = found, best = bins;
  return clipped_range(histogram, options, std::min((best + 0.5) * width, most));
}

}  // namespace

}  // namespace narrowgauge

NG_CALIBRATOR(entropy, "entropy", "the clip that changes the distribution least", {},
              narrowgauge::choose_entropy)
