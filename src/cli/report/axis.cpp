// SPDX-License-Identifier: Apache-2.0
#include "cli/report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

// The least of 1, 2, 5, 10, 20, ... times a power of ten that cuts `span` into at most so many.
double round_step(double span, int numbers) {
  const double least = span / std::max(numbers, 1);
  const double decade = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= least * (1 - 1e-9)) return factor * decade;
  return 10 * decade;
}

std::vector<double> multiples(double step, double low, double high) {
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double k = first; k <= last; ++k) ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}

}  // namespace

Axis Axis::around(double low, double high, Scale scale, int numbers) {
  constexpr double wide = 30;  // about one and a half decades
  const bool positive = low > 0;
  Axis axis;
  if (scale == Scale::automatic)
    scale = positive && high / low > wide ? Scale::decades : Scale::linear;
  if (scale != Scale::linear && positive) {
    scale == Scale::decades ? axis.choose_decades(low, high, numbers)
                            : axis.choose_doublings(low, high, numbers);
    return axis;
  }
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-9 * size || size == 0) {  // one value, drawn in the middle
    const double room = size > 0 ? size / 2 : 1;
    low -= room;
    high += room;
  }
  const double step = round_step(high - low, numbers);
  axis.low_ = step * std::floor(low / step + 1e-9);
  axis.high_ = step * std::ceil(high / step - 1e-9);
  axis.ticks_ = multiples(step, axis.low_, axis.high_);
  return axis;
}

Axis Axis::within(double low, double high, int numbers) {
  Axis axis;
  axis.low_ = low;
  axis.high_ = high > low ? high : low + 1;
  axis.ticks_ = multiples(round_step(axis.high_ - axis.low_, numbers), axis.low_, axis.high_);
  return axis;
}

void Axis::choose_decades(double low, double high, int numbers) {
  scale_ = Scale::decades;
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - 1e-9)));
  low_ = std::pow(10.0, first);
  high_ = std::pow(10.0, last);
  const int every = (last - first + numbers - 1) / numbers;
  for (int decade = first; decade <= last; decade += every)
    ticks_.push_back(std::pow(10.0, decade));
}

void Axis::choose_doublings(double low, double high, int numbers) {
  scale_ = Scale::doublings;
  const auto first = static_cast<int>(std::floor(std::log2(low) + 1e-9)) - (low == high);
  const auto last =
      std::max(first + 1, static_cast<int>(std::ceil(std::log2(high) - 1e-9))) + (low == high);
  low_ = std::exp2(first);
  high_ = std::exp2(last);
  const int every = (last - first + numbers - 1) / numbers;
  for (int power = first; power <= last; power += every) ticks_.push_back(std::exp2(power));
}

double Axis::place(double value) const {
  if (scale_ == Scale::linear) return (value - low_) / (high_ - low_);
  return (std::log2(value) - std::log2(low_)) / (std::log2(high_) - std::log2(low_));
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-3)) {
    const auto power = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    const double front = value / std::pow(10.0, power);
    return fmt::format("{:.3g}e{}", front, power);
  }
  if (size >= 1e4) return grouped(std::llround(value));
  return fmt::format("{:.6g}", value);
}

}  // namespace narrowgauge::cli
