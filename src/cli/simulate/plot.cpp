// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/common/svg.h"
#include "cli/simulate/simulate.h"
#include "cli/simulate/ulp_text.h"

namespace narrowgauge::cli {
namespace {

// Lengths in pixels.
constexpr double label_width = 150, bar_place = 46, bar_width = 34;
constexpr double panel_height = 96, panel_gap = 40, title_height = 70, axis_height = 58;

double middle_of(std::size_t place) {
  return svg_margin + label_width + bar_place * (static_cast<double>(place) + 0.5);
}

const char* class_of(std::size_t place) {
  if (place == ulp_places / 2) return "bar0";
  return place < ulp_places / 2 ? "bar1" : "bar3";
}

// `full` is the share that fills a panel's height.
std::string panel_text(const UlpPanel& panel, double base, double full) {
  std::string out = svg_text(svg_margin, base - panel_height / 2 - 4, panel.name, "", "start");
  out += svg_text(svg_margin, base - panel_height / 2 + 12, panel.note, "small soft", "start");
  for (std::size_t place = 0; place < ulp_places; ++place) {
    const double share = panel.statistics.share(panel.statistics.histogram[place]);
    if (share == 0) continue;
    const double height = std::max(share / full * panel_height, 0.75);
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.0f}\" height=\"{:.2f}\"/>\n",
        class_of(place), middle_of(place) - bar_width / 2, base - height, bar_width, height);
    const std::string percent =
        share < 0.001 ? "<0.1 %" : fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
    out += svg_text(middle_of(place), base - height - 4, percent, "small soft");
  }
  return out + fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n",
                           svg_margin + label_width, base, bar_place * ulp_places);
}

// Labels below the bars: "-4" for the bar of -4 to -2.
std::string axis_text(double base) {
  std::string out;
  for (std::size_t place = 0; place < ulp_places; ++place) {
    std::string label = ulp_place_name(place);
    const std::string upto = "up to ", beyond = "beyond ";
    if (label.starts_with(upto)) label = label.substr(upto.size());
    if (label.starts_with(beyond)) label = "> " + label.substr(beyond.size());
    out += svg_text(middle_of(place), base + 16, label, "small soft");
  }
  const double wide = bar_place * ulp_places;
  out += svg_text(svg_margin + label_width, base + 38, "towards zero", "small", "start");
  return out +
         svg_text(svg_margin + label_width + wide, base + 38, "away from zero", "small", "end");
}

}  // namespace

std::string ulp_chart(const std::string& title, const std::string& subtitle,
                      const std::vector<UlpPanel>& panels) {
  const double width = 2 * svg_margin + label_width + bar_place * ulp_places;
  const double height =
      title_height + (panel_height + panel_gap) * static_cast<double>(panels.size()) + axis_height;
  std::string out = svg_page(width, height, title, subtitle);
  double base = title_height, full = 0;
  for (const UlpPanel& panel : panels)
    for (const std::int64_t count : panel.statistics.histogram)
      full = std::max(full, panel.statistics.share(count));
  for (const UlpPanel& panel : panels)
    out += panel_text(panel, base += panel_height + panel_gap, full);
  return out + axis_text(base) + "</svg>\n";
}

}  // namespace narrowgauge::cli
