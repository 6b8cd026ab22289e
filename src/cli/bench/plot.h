// SPDX-License-Identifier: Apache-2.0
// The benchmark as a picture: bars in a self-contained SVG that is readable on light and on dark
// pages.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/bench.h"

namespace narrowgauge::cli {

struct PlotBar {
  std::string label;  // "bf16"; bars of one label have one colour, named in the legend
  Quartiles value;    // the bar ends at the median, the error bar at the others
  std::string below;  // "2.15x"
};

// The bars of one model stand together, each model to its own scale.
struct PlotGroup {
  std::string name;
  std::vector<PlotBar> bars;
};

std::string bar_chart(const std::string& title, const std::string& subtitle,
                      const std::vector<PlotGroup>& groups);

}  // namespace narrowgauge::cli
