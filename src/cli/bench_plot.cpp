// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/text.h"

namespace narrowgauge::cli {
namespace {

// Pixels. A number such as "123,456" in the smaller font is narrower than a bar's place.
constexpr double margin = 24, bar_width = 44, bar_place = 60, group_gap = 36, plot_height = 200;
constexpr double title_height = 84, above = 26, below = 58, letter = 7.6;
constexpr std::size_t groups_in_a_row = 4;

// Grey, blue, green, orange, purple, red, teal and pink, in the order of the labels.
constexpr const char* style = R"(<style>
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .small { font-size: 12px }
  .soft { fill: #59636e }
  .page { fill: #ffffff }
  .line { stroke: #59636e; stroke-width: 1.25; fill: none }
  .bar0 { fill: #7d8896 } .bar1 { fill: #2f6fd0 } .bar2 { fill: #2c8f57 }
  .bar3 { fill: #c9730f } .bar4 { fill: #8250df } .bar5 { fill: #b8433a }
  .bar6 { fill: #1b8a8f } .bar7 { fill: #b5509c }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .soft { fill: #a3adb8 }
    .page { fill: #0d1117 }
    .line { stroke: #a3adb8 }
    .bar0 { fill: #8b949e } .bar1 { fill: #5b9bf3 } .bar2 { fill: #4cb878 }
    .bar3 { fill: #e39a42 } .bar4 { fill: #a98af0 } .bar5 { fill: #e07a70 }
    .bar6 { fill: #45b5ba } .bar7 { fill: #de86c8 }
  }
</style>
)";
constexpr std::size_t colours = 8;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text, const char* classes,
                    const char* anchor = "middle") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, classes, escaped(text));
}

double group_width(const PlotGroup& group) {
  return std::max(bar_place * static_cast<double>(group.bars.size()),
                  letter * static_cast<double>(group.name.size()));
}

// Labels in the order in which they first appear.
std::vector<std::string> labels_of(const std::vector<PlotGroup>& groups) {
  std::vector<std::string> labels;
  for (const PlotGroup& group : groups)
    for (const PlotBar& bar : group.bars)
      if (std::find(labels.begin(), labels.end(), bar.label) == labels.end())
        labels.push_back(bar.label);
  return labels;
}

class Chart {
 public:
  explicit Chart(const std::vector<PlotGroup>& groups)
      : groups_(groups), labels_(labels_of(groups)) {}

  std::string text(const std::string& title, const std::string& subtitle) {
    place_groups();
    place_legend();
    width_ = std::max({width_, 2 * margin + 9.2 * static_cast<double>(title.size()),
                       2 * margin + 6.6 * static_cast<double>(subtitle.size())});
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
        width_, height_, escaped(title));
    out += style;
    out += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
    out += text_at(margin, 30, title, "title", "start");
    out += text_at(margin, 50, subtitle, "small soft", "start");
    return out + body_ + "</svg>\n";
  }

 private:
  void place_groups() {
    constexpr double row_height = above + plot_height + below;
    double x = margin, base = title_height + above + plot_height;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i > 0 && i % groups_in_a_row == 0) {
        x = margin;
        base += row_height;
      }
      add_group(groups_[i], x, base);
      x += group_width(groups_[i]) + group_gap;
      width_ = std::max(width_, x - group_gap + margin);
    }
    height_ = base + below + 8;
  }

  void add_group(const PlotGroup& group, double left, double base) {
    double top = 0;
    for (const PlotBar& bar : group.bars) top = std::max(top, bar.value + bar.interval);
    const double width = group_width(group);
    double x = left + (width - bar_place * static_cast<double>(group.bars.size())) / 2;
    for (const PlotBar& bar : group.bars) {
      add_bar(bar, x + bar_place / 2, base, top > 0 ? plot_height / top : 0);
      x += bar_place;
    }
    body_ += fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", left, base, width);
    body_ += text_at(left + width / 2, base + 42, group.name, "");
  }

  // The number stands above the error bar.
  void add_bar(const PlotBar& bar, double middle, double base, double scale) {
    const double height = bar.value * scale, half = bar.interval * scale;
    const auto colour = std::find(labels_.begin(), labels_.end(), bar.label) - labels_.begin();
    body_ += fmt::format(
        "<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        static_cast<std::size_t>(colour) % colours, middle - bar_width / 2, base - height,
        bar_width, height);
    if (half >= 0.5)
      body_ += fmt::format(
          "<path class=\"line\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h10M{3:.1f} "
          "{2:.1f}h10\"/>\n",
          middle, base - height - half, std::min(base, base - height + half), middle - 5);
    body_ += text_at(middle, base - height - half - 6, rate_text(bar.value), "small");
    body_ += text_at(middle, base + 18, bar.below, "small soft");
  }

  void place_legend() {
    double x = margin;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      body_ +=
          fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"62\" width=\"12\" height=\"12\"/>\n",
                      i % colours, x);
      body_ += text_at(x + 18, 73, labels_[i], "small", "start");
      x += 18 + letter * static_cast<double>(labels_[i].size()) + 22;
    }
    width_ = std::max(width_, x - 22 + margin);
  }

  const std::vector<PlotGroup>& groups_;
  std::vector<std::string> labels_;
  std::string body_;
  double width_ = 0, height_ = 0;
};

}  // namespace

std::string bar_chart(const std::string& title, const std::string& subtitle,
                      const std::vector<PlotGroup>& groups) {
  return Chart(groups).text(title, subtitle);
}

}  // namespace narrowgauge::cli
