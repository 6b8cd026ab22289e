// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/simulate.h"

namespace narrowgauge::cli {
namespace {

// Pixels.
constexpr double margin = 24, label_width = 150, bar_place = 46, bar_width = 34;
constexpr double panel_height = 96, panel_gap = 40, title_height = 70, axis_height = 58;

constexpr const char* style = R"(<style>
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 11px }
  .soft { fill: #59636e }
  .page { fill: #ffffff }
  .line { stroke: #59636e; stroke-width: 1 }
  .nearer { fill: #2f6fd0 } .equal { fill: #7d8896 } .away { fill: #c9730f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .soft { fill: #a3adb8 }
    .page { fill: #0d1117 }
    .line { stroke: #a3adb8 }
    .nearer { fill: #5b9bf3 } .equal { fill: #8b949e } .away { fill: #e39a42 }
  }
</style>
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

std::string text_at(double x, double y, const std::string& text, const char* classes,
                    const char* anchor = "middle") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, classes, escaped(text));
}

double middle_of(std::size_t place) {
  return margin + label_width + bar_place * (static_cast<double>(place) + 0.5);
}

const char* class_of(std::size_t place) {
  if (place == ulp_places / 2) return "equal";
  return place < ulp_places / 2 ? "nearer" : "away";
}

// `full` is the share that is as high as a panel.
std::string panel_text(const UlpPanel& panel, double base, double full) {
  std::string out = text_at(margin, base - panel_height / 2 - 4, panel.name, "", "start");
  out += text_at(margin, base - panel_height / 2 + 12, panel.note, "small soft", "start");
  for (std::size_t place = 0; place < ulp_places; ++place) {
    const double share = panel.statistics.share(panel.statistics.histogram[place]);
    if (share == 0) continue;
    const double height = std::max(share / full * panel_height, 0.75);
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.0f}\" height=\"{:.2f}\"/>\n",
        class_of(place), middle_of(place) - bar_width / 2, base - height, bar_width, height);
    const std::string percent =
        share < 0.001 ? "<0.1 %" : fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0);
    out += text_at(middle_of(place), base - height - 4, percent, "small soft");
  }
  return out + fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n",
                           margin + label_width, base, bar_place * ulp_places);
}

// "-4" below the bars from -2 to -4.
std::string axis_text(double base) {
  std::string out;
  for (std::size_t place = 0; place < ulp_places; ++place) {
    std::string label = ulp_place_name(place);
    const std::string upto = "up to ", beyond = "beyond ";
    if (label.starts_with(upto)) label = label.substr(upto.size());
    if (label.starts_with(beyond)) label = "> " + label.substr(beyond.size());
    out += text_at(middle_of(place), base + 16, label, "small soft");
  }
  const double wide = bar_place * ulp_places;
  out += text_at(margin + label_width, base + 38, "towards zero", "small", "start");
  return out + text_at(margin + label_width + wide, base + 38, "away from zero", "small", "end");
}

}  // namespace

std::string ulp_chart(const std::string& title, const std::string& subtitle,
                      const std::vector<UlpPanel>& panels) {
  const double width = 2 * margin + label_width + bar_place * ulp_places;
  const double height =
      title_height + (panel_height + panel_gap) * static_cast<double>(panels.size()) + axis_height;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
      width, height, escaped(title));
  out += style;
  out += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
  out += text_at(margin, 30, title, "title", "start");
  out += text_at(margin, 50, subtitle, "small soft", "start");
  double base = title_height, full = 0;
  for (const UlpPanel& panel : panels)
    for (const std::int64_t count : panel.statistics.histogram)
      full = std::max(full, panel.statistics.share(count));
  for (const UlpPanel& panel : panels)
    out += panel_text(panel, base += panel_height + panel_gap, full);
  return out + axis_text(base) + "</svg>\n";
}

}  // namespace narrowgauge::cli
