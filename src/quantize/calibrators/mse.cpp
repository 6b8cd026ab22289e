// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "quantize/calibrators/calibrator.h"

namespace narrowgauge {

namespace {

// The mean of x^2 between a and b.
double mean_square(double a, double b) { return (a * a + a * b + b * b) / 3; }

// The numbers of a quantised value in a range: whole multiples of a step.
class Grid {
 public:
  Grid(const Range& range, const RangeOptions& options) {
    const int steps = options.levels - 1;
    const int below = options.symmetric ? steps / 2 : 0;
    step_ =
        below > 0 ? double{range.high} / below : (double{range.high} - double{range.low}) / steps;
    if (step_ == 0) return;
    const double first = below > 0 ? below : std::nearbyint(-double{range.low} / step_);
    low_ = -first * step_;
    high_ = (below > 0 ? below : steps - first) * step_;
  }

  // The sum of squared errors, of rounding and of clipping, of values spread evenly in each bin.
  double error(const std::vector<HistogramBin>& bins) const {
    double sum = 0;
    for (const auto& [low, high, count] : bins) sum += static_cast<double>(count) * mean(low, high);
    return sum;
  }

 private:
  // The mean squared error of values spread evenly between a and b.
  double mean(double a, double b) const {
    if (a >= low_ && b <= high_) return inside(a, b);
    if (b <= low_ || a >= high_) return beyond(a, b);
    const double x = std::clamp(a, low_, high_), y = std::clamp(b, low_, high_);
    const double sum = (x - a) * beyond(a, x) + (y - x) * inside(x, y) + (b - y) * beyond(y, b);
    return sum / (b - a);
  }
  double beyond(double a, double b) const {
    const double end = b <= low_ ? low_ : high_;
    return mean_square(a - end, b - end);
  }
  double inside(double a, double b) const {
    if (step_ == 0) return mean_square(a, b);
    const double x = a / step_, y = b / step_, m = std::nearbyint(x), n = std::nearbyint(y);
    if (m == n) return step_ * step_ * mean_square(x - m, y - n);
    // The integral of (u - round(u))^2: 1/12 over each whole step between, and both ends.
    const double from = x - m, to = y - n;
    const double ends = (0.125 - from * from * from + to * to * to + 0.125) / 3;
    return step_ * step_ * (ends + (n - m - 1) / 12) / (y - x);
  }

  double step_ = 0, low_ = 0, high_ = 0;
};

// The best of the ranges that are tried.
class Search {
 public:
  Search(std::vector<HistogramBin> bins, const Range& first, const RangeOptions& options)
      : bins_(std::move(bins)), options_(options), best_(first), least_(error(first)) {}

  bool attempt(const Range& range) {
    const double found = error(range);
    if (!(found < least_)) return false;
    least_ = found;
    best_ = range;
    return true;
  }
  const Range& best() const { return best_; }

 private:
  double error(const Range& range) const { return Grid(range, options_).error(bins_); }

  std::vector<HistogramBin> bins_;
  RangeOptions options_;
  Range best_;
  double least_;
};

constexpr int octaves = 20, coarse = 8, fine = 64;  // the latter: candidates in an octave

double shrunk(double limit, int tries, int each) { return limit * std::exp2(-1.0 * tries / each); }

// Moves one end after the other as long as that helps.
void move_ends(Search& search, const Range& whole) {
  constexpr int most_rounds = 8, width = fine / coarse;
  bool better = true;
  for (int round = 0; better && round < most_rounds; ++round) {
    better = false;
    for (float Range::*const end : {&Range::low, &Range::high}) {
      const Range from = search.best();
      for (int tries = -width; tries <= width; ++tries) {
        Range range = from;
        range.*end =
            std::clamp(static_cast<float>(shrunk(from.*end, tries, fine)), whole.low, whole.high);
        better |= search.attempt(range);
      }
    }
  }
}

Range choose_mse(const Histogram& histogram, const RangeOptions& options, double) {
  const Range whole = whole_range(histogram, options);
  const double most = std::max(-whole.low, whole.high);
  Search search((options.symmetric ? histogram.magnitudes() : histogram).bins(), whole, options);
  int nearest = 0;
  for (int tries = 1; tries <= octaves * coarse; ++tries)
    if (search.attempt(clipped_range(histogram, options, shrunk(most, tries, coarse))))
      nearest = tries;
  const double middle = shrunk(most, nearest, coarse);
  for (int tries = -fine / coarse; tries <= fine / coarse; ++tries)
    search.attempt(clipped_range(histogram, options, shrunk(middle, tries, fine)));
  if (!options.symmetric) move_ends(search, whole);
  return search.best();
}

}  // namespace

}  // namespace narrowgauge

NG_CALIBRATOR(mse, "mse", "the clip with the least mean squared error", {}, narrowgauge::choose_mse)
