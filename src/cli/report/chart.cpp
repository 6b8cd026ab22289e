// SPDX-License-Identifier: Apache-2.0
#include "cli/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/common/text.h"
#include "cli/report/drawing.h"

namespace narrowgauge::cli {
namespace {

// Lengths in pixels.
constexpr double right = 14, plot_height = 170, legend_line = 18, below = 38;
constexpr double letter = 6.6;
constexpr std::size_t chart_parts = 180;  // that points are thinned to
constexpr std::size_t most_columns = 60;  // with values for the pointer

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

class Lines {
 public:
  explicit Lines(const LineChart& chart) : chart_(chart) {
    for (const Series& series : chart.series)
      for (const Point& point : series.points) {
        steps_.push_back(point.x);
        if (std::isfinite(point.y)) values_.add(point.y);
      }
    std::ranges::sort(steps_);
    steps_.erase(std::ranges::unique(steps_).begin(), steps_.end());
  }

  std::string text() {
    if (values_.is_empty()) return "";
    if (chart_.percent && values_.low == values_.high) values_ = {0, 1};
    y_ = Axis::around(values_.low, values_.high, chart_.scale);
    for (const double tick : y_.ticks())
      left_ = std::max(left_, 14 + letter * static_cast<double>(width_of(tick_of(tick))));
    x_ = Axis::within(std::min(steps_.front(), 0.0), steps_.back());
    top_ = 8 + legend_line * static_cast<double>(place_legend().size());
    Drawing drawing(drawing_width, top_ + plot_height + below, chart_.what);
    draw_legend(drawing);
    draw_axes(drawing);
    for (const Series& series : chart_.series) draw(drawing, series);
    for (const double step : chart_.marks)
      drawing.path(fmt::format("M{:.1f} {:.1f}v-14", x_of(step), top_ + plot_height),
                   "curve stroke5");
    draw_columns(drawing);
    return std::move(drawing).finish();
  }

 private:
  double x_of(double step) const {
    return left_ + x_.place(step) * (drawing_width - left_ - right);
  }
  double y_of(double value) const { return top_ + (1 - y_.place(value)) * plot_height; }
  std::string tick_of(double tick) const {
    return chart_.percent ? fmt::format("{:.6g} %", 100 * tick) : tick_text(tick);
  }
  std::string value(double number) const {
    return chart_.percent ? percent_text(number) : number_text(number);
  }

  struct Entry {
    std::string name, colour;
    double x;
  };
  // Names of series in lines that are wide enough for them; one alone needs none.
  std::vector<std::vector<Entry>> place_legend() const {
    std::vector<std::pair<std::string, std::string>> names;
    if (chart_.series.size() > 1)
      for (const Series& series : chart_.series)
        names.emplace_back(series.name,
                           fmt::format("bar{}{}", series.colour, series.pale ? " pale" : ""));
    if (!chart_.marks.empty()) names.emplace_back(chart_.marks_name, "bar5");
    std::vector<std::vector<Entry>> lines;
    double x = left_;
    for (const auto& [name, colour] : names) {
      const std::string shown = shortened(name, 50);
      const double width = 18 + letter * static_cast<double>(width_of(shown)) + 16;
      if (lines.empty() || x + width - 16 > drawing_width) {
        lines.emplace_back();
        x = left_;
      }
      lines.back().push_back({shown, colour, x});
      x += width;
    }
    return lines;
  }

  void draw_legend(Drawing& drawing) const {
    double y = 12;
    for (const std::vector<Entry>& line : place_legend()) {
      for (const Entry& entry : line) {
        drawing.box({entry.x, y - 9, 11, 11}, entry.colour);
        drawing.text(entry.x + 16, y + 1, entry.name, "small", "start");
      }
      y += legend_line;
    }
  }

  void draw_axes(Drawing& drawing) const {
    for (const double tick : y_.ticks()) {
      drawing.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", left_, y_of(tick), drawing_width - right),
                   "grid");
      drawing.text(left_ - 7, y_of(tick) + 4, tick_of(tick), "small soft", "end");
    }
    for (const double tick : x_.ticks()) {
      const std::string text = tick_text(tick);
      const double most = drawing_width - letter / 2 * static_cast<double>(text.size()) - 1;
      drawing.text(std::min(x_of(tick), most), top_ + plot_height + 17, text);
    }
    drawing.text((left_ + drawing_width - right) / 2, top_ + plot_height + 33, "step");
  }

  void draw(Drawing& drawing, const Series& series) const {
    std::string path;
    bool down = false;
    for (const Point& point : thinned(series.points, chart_parts)) {
      if (!std::isfinite(point.y)) {
        down = false;
        continue;
      }
      // A line of no length is a dot, of a value that stands alone between gaps.
      path += fmt::format("{}{:.1f} {:.1f}{}", down ? 'L' : 'M', x_of(point.x), y_of(point.y),
                          down ? "" : "h0");
      down = true;
    }
    if (!path.empty())
      drawing.path(path,
                   fmt::format("curve stroke{}{}", series.colour, series.pale ? " pale" : ""));
    constexpr std::size_t most_dots = 100;
    const bool alone = series.points.size() == 1;
    if (!alone && (!series.dots || series.points.size() > most_dots)) return;
    for (const Point& point : series.points)
      if (std::isfinite(point.y))
        drawing.dot(x_of(point.x), y_of(point.y), 2.6, fmt::format("bar{}", series.colour));
  }

  // What a pointer over a column of steps brings up.
  std::string column_text(double first, double last) const {
    std::string text = first == last
                           ? fmt::format("step {}", tick_text(first))
                           : fmt::format("steps {} to {}", tick_text(first), tick_text(last));
    const char* between = ": ";
    for (const Series& series : chart_.series) {
      const auto begin = std::ranges::lower_bound(series.points, first, {}, &Point::x);
      Extent extent;
      for (auto point = begin; point != series.points.end() && point->x <= last; ++point)
        if (std::isfinite(point->y)) extent.add(point->y);
      if (extent.is_empty()) continue;
      text += between + series.name + ' ' + value(extent.low);
      if (extent.high > extent.low) text += " to " + value(extent.high);
      between = ", ";
    }
    return text;
  }

  void draw_columns(Drawing& drawing) const {
    const std::size_t each = (steps_.size() + most_columns - 1) / most_columns;
    double begin = left_;
    for (std::size_t i = 0; i < steps_.size(); i += each) {
      const std::size_t next = std::min(i + each, steps_.size());
      const double end = next == steps_.size() ? drawing_width - right
                                               : x_of((steps_[next - 1] + steps_[next]) / 2);
      drawing.box({begin, top_, end - begin, plot_height}, "column",
                  column_text(steps_[i], steps_[next - 1]));
      begin = end;
    }
  }

  const LineChart& chart_;
  std::vector<double> steps_;  // of all series
  Extent values_;
  Axis x_, y_;
  double top_ = 0, left_ = 40;
};

}  // namespace

std::string line_chart(const LineChart& chart) { return Lines(chart).text(); }

}  // namespace narrowgauge::cli
