// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/svg.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

// Lengths in pixels. A number such as "123,456" in the smaller font is narrower than a bar's place.
constexpr double margin = svg_margin, bar_width = 44, bar_place = 60, group_gap = 36,
                 plot_height = 200;
constexpr double title_height = 84, above = 26, below = 58, letter = 7.6;
constexpr std::size_t groups_in_a_row = 4;

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
    return svg_page(width_, height_, title, subtitle) + body_ + "</svg>\n";
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
    for (const PlotBar& bar : group.bars) top = std::max(top, bar.value.upper);
    const double width = group_width(group);
    double x = left + (width - bar_place * static_cast<double>(group.bars.size())) / 2;
    for (const PlotBar& bar : group.bars) {
      add_bar(bar, x + bar_place / 2, base, top > 0 ? plot_height / top : 0);
      x += bar_place;
    }
    body_ += fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", left, base, width);
    body_ += svg_text(left + width / 2, base + 42, group.name, "");
  }

  // The number stands above the error bar.
  void add_bar(const PlotBar& bar, double middle, double base, double scale) {
    const double height = bar.value.median * scale;
    const double low = base - bar.value.lower * scale, high = base - bar.value.upper * scale;
    const auto colour = std::find(labels_.begin(), labels_.end(), bar.label) - labels_.begin();
    body_ += fmt::format(
        "<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        static_cast<std::size_t>(colour) % svg_colours, middle - bar_width / 2, base - height,
        bar_width, height);
    if (low - high >= 1)
      body_ += fmt::format(
          "<path class=\"line\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h10M{3:.1f} "
          "{2:.1f}h10\"/>\n",
          middle, high, low, middle - 5);
    body_ += svg_text(middle, high - 6, rate_text(bar.value.median), "small");
    body_ += svg_text(middle, base + 18, bar.below, "small soft");
  }

  void place_legend() {
    double x = margin;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      body_ +=
          fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"62\" width=\"12\" height=\"12\"/>\n",
                      i % svg_colours, x);
      body_ += svg_text(x + 18, 73, labels_[i], "small", "start");
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
