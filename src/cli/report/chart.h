// SPDX-License-Identifier: Apache-2.0
// Lines over the steps of a training.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/report/axis.h"

namespace narrowgauge::cli {

struct Point {
  double x = 0, y = 0;  // y that is not finite breaks the line
};

struct Series {
  std::string name;
  std::vector<Point> points;  // by growing x
  std::size_t colour = 1;     // of svg_colours
  bool dots = false;          // few values, each with a dot
  bool pale = false;          // stands back behind the others
};

struct LineChart {
  std::string what{};  // for screen readers
  std::vector<Series> series{};
  Scale scale = Scale::automatic;
  bool percent = false;         // values are shares from 0 to 1
  std::vector<double> marks{};  // steps with a mark below the line
  std::string marks_name{};     // of the marks in the legend
};

// "" where no series has a finite value.
std::string line_chart(const LineChart& chart);

// Leaves so few points that they can be drawn, without losing an extreme: of each of `parts` equal
// parts of x the first and the last point, the smallest and the largest, and one that is not
// finite.
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t parts);

}  // namespace narrowgauge::cli
