// SPDX-License-Identifier: Apache-2.0
#include "cli/report/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cli/common/text.h"
#include "cli/report/page.h"
#include "narrowgauge/error.h"
#include "narrowgauge/metrics.h"

namespace narrowgauge::cli {
namespace {

constexpr std::string_view of_test = "test_";

const CsvColumn* find(const std::vector<CsvColumn>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &CsvColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

}  // namespace

Curves::Curves(const CsvTable& table) {
  const std::vector<CsvColumn> read = columns_of(table);
  std::vector<std::size_t> order(read.front().values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return read.front().values[row]; });
  for (const CsvColumn& column : read) {
    columns_.push_back({column.name, {}});
    for (const std::size_t row : order) columns_.back().values.push_back(column.values[row]);
  }
}

std::vector<Point> Curves::of(const std::string& name) const {
  const CsvColumn* column = find(columns_, name);
  std::vector<Point> points;
  if (!column) return points;
  for (std::size_t row = 0; row < column->values.size(); ++row)
    if (column->values[row])
      points.push_back({columns_.front().values[row].value_or(0), *column->values[row]});
  return points;
}

std::vector<std::string> Curves::names() const {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns_)
    if (&column != &columns_.front()) names.push_back(column.name);
  return names;
}

std::optional<Point> Curves::last(const std::string& column) const {
  const std::vector<Point> points = of(column);
  return points.empty() ? std::nullopt : std::optional(points.back());
}

std::optional<Point> Curves::best(const std::string& column) const {
  const std::string metric = metric_of_column(column);
  if (!metric_is_share(metric)) return std::nullopt;
  const double sign = better_of(metric) == Better::lower ? 1 : -1;
  std::optional<Point> best;
  for (const Point& point : of(column))
    if (std::isfinite(point.y) && (!best || sign * point.y < sign * best->y)) best = point;
  return best;
}

std::string metric_of_column(const std::string& column) {
  return column.starts_with(of_test) ? column.substr(of_test.size()) : "";
}

std::optional<bool> metric_is_share(const std::string& metric) try {
  return MetricSet({metric}).values().front().is_share;
} catch (const UsageError&) {
  return std::nullopt;
}

namespace {

// "gradient norm" of "gradient_norm"
std::string heading_of(const std::string& column) {
  std::string text = column;
  std::ranges::replace(text, '_', ' ');
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// How many values of a column are not finite, as a sentence; "" where all are.
std::string gaps_text(const std::vector<Point>& points) {
  const auto gaps =
      std::ranges::count_if(points, [](const Point& p) { return !std::isfinite(p.y); });
  return gaps == 0 ? ""
                   : fmt::format("{} of {} values are not finite: the line has gaps there.",
                                 grouped(gaps), grouped(std::ssize(points)));
}

class CurvePage {
 public:
  explicit CurvePage(const Curves& curves) : curves_(curves) {
    drawn_.insert("epoch");  // a count, which the steps tell too
  }

  std::string text() {
    add_losses();
    add_alone("learning_rate", "Learning rate", Scale::linear);
    add_loss_scale();
    add_shares();
    for (const std::string& column : curves_.names())
      if (!drawn_.count(column)) add_alone(column, heading_of(column), Scale::automatic);
    return html_figures(figures_) + html_paragraph(left_out_);
  }

 private:
  // The values of a column, which is then drawn.
  std::vector<Point> take(const std::string& column) {
    drawn_.insert(column);
    return curves_.of(column);
  }

  void add(const std::string& title, LineChart chart, const std::string& below) {
    chart.what = title + " over the steps of the training";
    const std::string svg = line_chart(chart);
    if (svg.empty())
      left_out_ += (left_out_.empty() ? "" : " ") + title + " has no finite values.";
    else
      figures_.push_back(html_figure(title, svg, below));
  }

  void add_losses() {
    LineChart chart;
    const std::vector<Point> steps = take("loss"), epochs = take("epoch_loss"),
                             tests = take("test_loss");
    if (!steps.empty()) chart.series.push_back({"training", steps, 1, false, true});
    if (!epochs.empty()) chart.series.push_back({"training, mean of the epoch so far", epochs, 1});
    if (!tests.empty()) chart.series.push_back({"test", tests, 3, true});
    if (!chart.series.empty()) add("Loss", std::move(chart), gaps_text(steps));
  }

  void add_alone(const std::string& column, const std::string& title, Scale scale) {
    const std::vector<Point> points = take(column);
    if (points.empty()) return;
    const bool few = metric_of_column(column).size() > 0;
    LineChart chart{.series = {{title, points, 1, few}}, .scale = scale};
    add(title, std::move(chart), gaps_text(points));
  }

  // Steps are skipped between the rows in which their number grows. A training that goes on from a
  // checkpoint counts anew.
  void add_loss_scale() {
    const std::vector<Point> scales = take("loss_scale"), skipped = take("skipped_steps");
    LineChart chart{.series = {{"loss scale", scales, 1}}, .scale = Scale::doublings};
    double before = 0, all = 0;
    for (const Point& each : skipped) {
      const double more = each.y < before ? each.y : each.y - before;
      if (more > 0) chart.marks.push_back(each.x);
      all += std::max(more, 0.0);
      before = each.y;
    }
    chart.marks_name = "steps were skipped since the row before";
    const std::string steps = all == 1 ? "1 step was" : number_text(all) + " steps were";
    const std::string below = all == 0 ? "No step was skipped." : steps + " skipped in all.";
    const bool constant =
        std::ranges::all_of(scales, [](const Point& point) { return point.y == 1; });
    if (!scales.empty() && constant && all == 0)
      left_out_ = "The loss was not scaled, and no step was skipped.";
    else if (!scales.empty())
      add("Loss scale", std::move(chart), skipped.empty() ? "" : below);
  }

  void add_shares() {
    LineChart chart{.scale = Scale::linear, .percent = true};
    std::size_t colour = 1;
    for (const std::string& column : curves_.names()) {
      const std::string metric = metric_of_column(column);
      if (drawn_.count(column) || !metric_is_share(metric).value_or(false)) continue;
      if (std::vector<Point> points = take(column); !points.empty())
        chart.series.push_back({metric, std::move(points), 1 + colour++ % 7, true});
    }
    if (chart.series.empty()) return;
    std::string title = "Test";
    if (chart.series.size() == 1) title += ' ' + chart.series[0].name;
    add(title, std::move(chart), "");
  }

  const Curves& curves_;
  std::set<std::string> drawn_;
  std::vector<std::string> figures_;
  std::string left_out_;
};

}  // namespace

std::string curves_html(const Curves& curves) { return CurvePage(curves).text(); }

}  // namespace narrowgauge::cli
