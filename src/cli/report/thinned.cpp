// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "cli/report/chart.h"

namespace narrowgauge::cli {
namespace {

// The points to keep of those from `begin` to before `end`.
void keep_of(const std::vector<Point>& points, std::size_t begin, std::size_t end,
             std::vector<Point>& kept) {
  std::set<std::size_t> chosen{begin, end - 1};
  std::size_t smallest = end, largest = end, gap = end;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(points[i].y)) {
      gap = std::min(gap, i);
      continue;
    }
    if (smallest == end || points[i].y < points[smallest].y) smallest = i;
    if (largest == end || points[i].y > points[largest].y) largest = i;
  }
  for (const std::size_t each : {smallest, largest, gap})
    if (each < end) chosen.insert(each);
  for (const std::size_t each : chosen) kept.push_back(points[each]);
}

}  // namespace

std::vector<Point> thinned(const std::vector<Point>& points, std::size_t parts) {
  constexpr std::size_t most_of_a_part = 5;
  if (points.size() <= most_of_a_part * parts) return points;
  const double first = points.front().x, span = std::max(points.back().x - first, 1.0);
  const auto part_of = [&](const Point& point) {
    return std::min(
        parts - 1, static_cast<std::size_t>((point.x - first) / span * static_cast<double>(parts)));
  };
  std::vector<Point> kept;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && part_of(points[end]) == part_of(points[begin])) ++end;
    keep_of(points, begin, end, kept);
    begin = end;
  }
  return kept;
}

}  // namespace narrowgauge::cli
