// SPDX-License-Identifier: Apache-2.0
#include "ops/image/grid_taps.h"

#include <algorithm>
#include <cmath>

namespace narrowgauge {

namespace {

struct Place {
  double x, slope;  // in elements; its derivative by the coordinate
};

// The ends between which reflection mirrors.
struct Ends {
  double low, high;
};
Ends ends_of(const GridAxis& axis) {
  const auto last = static_cast<double>(axis.size - 1);
  return axis.align_corners ? Ends{0, last} : Ends{-0.5, last + 0.5};
}

Place reflect(Place p, Ends ends) {
  const double span = ends.high - ends.low;
  if (span <= 0) return {ends.low, 0};
  if (p.x < ends.low) p = {2 * ends.low - p.x, -p.slope};
  const double beyond = std::fmod(p.x - ends.low, 2 * span);
  return beyond <= span ? Place{ends.low + beyond, p.slope}
                        : Place{ends.low + 2 * span - beyond, -p.slope};
}

Place place_of(const GridAxis& axis, double coordinate) {
  const auto size = static_cast<double>(axis.size);
  const Ends ends = ends_of(axis);
  Place p = axis.align_corners ? Place{(coordinate + 1) / 2 * (size - 1), (size - 1) / 2}
                               : Place{((coordinate + 1) * size - 1) / 2, size / 2};
  if (!std::isfinite(p.x)) p = {-10, 0};  // outside, so that it can be counted in elements
  if (axis.mode == GridMode::nearest) p.x = std::nearbyint(p.x);
  const bool outside = p.x < ends.low || p.x > ends.high;
  if (outside && axis.padding == GridPadding::reflection) p = reflect(p, ends);
  if (outside && axis.padding == GridPadding::border) p = {std::clamp(p.x, 0.0, size - 1), 0};
  // Far outside all places are alike.
  return {std::clamp(p.x, -10.0, size + 10), p.slope};
}

std::int64_t element_at(const GridAxis& axis, double x) {
  const auto last = static_cast<double>(axis.size - 1);
  if (x >= 0 && x <= last) return static_cast<std::int64_t>(x);
  if (axis.padding == GridPadding::zeros) return -1;
  if (axis.padding == GridPadding::reflection) x = reflect({x, 0}, ends_of(axis)).x;
  return static_cast<std::int64_t>(std::clamp(x, 0.0, last));
}

// Keys' cubic filter with a = -0.75, and its derivatives, for a distance to the right of the
// element.
struct Cubic {
  double value, slope, curve;
};
Cubic cubic(double distance) {
  constexpr double a = -0.75;
  const double x = std::abs(distance), sign = distance < 0 ? -1 : 1;
  if (x <= 1)
    return {((a + 2) * x - (a + 3)) * x * x + 1, sign * (3 * (a + 2) * x - 2 * (a + 3)) * x,
            6 * (a + 2) * x - 2 * (a + 3)};
  if (x < 2)
    return {((a * x - 5 * a) * x + 8 * a) * x - 4 * a, sign * ((3 * a * x - 10 * a) * x + 8 * a),
            6 * a * x - 10 * a};
  return {0, 0, 0};
}

}  // namespace

GridTaps grid_taps(const GridAxis& axis, double coordinate) {
  const Place p = place_of(axis, coordinate);
  GridTaps taps;
  if (axis.mode == GridMode::nearest) return {1, {element_at(axis, p.x)}, {1}, {0}, {0}};
  const double left = std::floor(p.x), part = p.x - left;
  const int first = axis.mode == GridMode::cubic ? -1 : 0;
  for (int tap = first; tap <= 1 - first; ++tap) {
    const auto i = static_cast<std::size_t>(taps.count++);
    taps.element[i] = element_at(axis, left + tap);
    const Cubic filter = axis.mode == GridMode::cubic ? cubic(part - tap)
                         : tap == 0                   ? Cubic{1 - part, -1, 0}
                                                      : Cubic{part, 1, 0};
    taps.weight[i] = filter.value;
    taps.slope[i] = filter.slope * p.slope;
    taps.curve[i] = filter.curve * p.slope * p.slope;
  }
  return taps;
}

}  // namespace narrowgauge
