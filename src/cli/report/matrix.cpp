// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/svg.h"
#include "cli/common/text.h"
#include "cli/progress/metrics.h"
#include "cli/report/drawing.h"
#include "cli/report/page.h"
#include "cli/report/results.h"

namespace narrowgauge::cli {
namespace {

constexpr std::int64_t most_drawn = 30;  // classes of a heat map
constexpr std::size_t most_rows = 20;

class HeatMap {
 public:
  HeatMap(const ConfusionMatrix& matrix, const ClassNames& names) : matrix_(matrix), names_(names) {
    const auto letters = std::min<std::size_t>(names.longest(matrix.classes), most_letters);
    margin_ = 26 + letter * static_cast<double>(letters);
    side_ = std::min(56.0, (drawing_width - margin_ - 2) / static_cast<double>(matrix.classes));
  }

  std::string text() const {
    const double size = side_ * static_cast<double>(matrix_.classes);
    Drawing drawing(drawing_width, size + margin_ + 6, "Confusion matrix of the test set");
    for (std::int64_t label = 0; label < matrix_.classes; ++label) {
      const double middle = side_ * (static_cast<double>(label) + 0.5);
      const std::string name = shortened(names_.brief(label), most_letters);
      if (shows(label)) {
        drawing.text(margin_ - 6, middle + 4, name, "small", "end");
        drawing.add(turned(margin_ + middle + 4, size + 8, name));
      }
      for (std::int64_t c = 0; c < matrix_.classes; ++c) draw(drawing, label, c);
    }
    drawing.add(turned(12, size / 2, "label", "middle"));
    drawing.text(margin_ + size / 2, size + margin_ + 2, "prediction");
    return std::move(drawing).finish();
  }

 private:
  static constexpr double letter = 6.9;
  static constexpr std::size_t most_letters = 14;

  // Whether the name of a label is shown: so many are as do not overlap.
  bool shows(std::int64_t label) const {
    const auto every = static_cast<std::int64_t>(std::ceil(13 / side_));
    return label % every == 0;
  }

  static std::string turned(double x, double y, const std::string& text,
                            const char* anchor = "end") {
    return fmt::format(
        "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"{}\" "
        "class=\"small{}\">{}</text>\n",
        x, y, anchor, std::string_view(anchor) == "end" ? "" : " soft", svg_escaped(text));
  }

  // Colours go with the root of the share, so that few errors are seen beside many right
  // predictions.
  void draw(Drawing& drawing, std::int64_t label, std::int64_t predicted) const {
    const std::int64_t count = matrix_.at(label, predicted);
    const double share =
        count > 0 ? static_cast<double>(count) / static_cast<double>(labels_of(matrix_, label)) : 0;
    const double x = margin_ + side_ * static_cast<double>(predicted),
                 y = side_ * static_cast<double>(label);
    const bool right = label == predicted;
    const double strength = count > 0 ? 0.12 + 0.88 * std::sqrt(share) : 0.04;
    drawing.add(fmt::format("<g fill-opacity=\"{:.2f}\">", strength));
    drawing.box(
        {x + 0.5, y + 0.5, side_ - 1, side_ - 1},
        right       ? "bar1"
        : count > 0 ? "bar5"
                    : "bar0",
        fmt::format("label {}, predicted {}: {} of {} ({})", names_.of(label), names_.of(predicted),
                    grouped(count), grouped(labels_of(matrix_, label)), percent_text(share)));
    drawing.add("</g>\n");
    const std::string number = std::to_string(count);
    if (count == 0 || static_cast<double>(number.size()) * 7 > side_ - 2) return;
    drawing.text(x + side_ / 2, y + side_ / 2 + 4, number, strength > 0.6 ? "small on" : "small");
  }

  const ConfusionMatrix& matrix_;
  const ClassNames& names_;
  double margin_ = 0, side_ = 0;
};

// The classes that are most often taken for others.
std::string pairs_html(const ConfusionMatrix& matrix, const ClassNames& names) {
  const std::vector<ConfusedPair> pairs = most_confused(matrix);
  HtmlTable table({"<label", "<taken for", "times", "of"});
  for (std::size_t i = 0; i < std::min(pairs.size(), most_rows); ++i)
    table.add({names.of(pairs[i].label), names.of(pairs[i].predicted), grouped(pairs[i].count),
               grouped(labels_of(matrix, pairs[i].label))});
  if (table.is_empty()) return html_paragraph("No class was taken for another.");
  const std::string rest = pairs.size() > most_rows
                               ? fmt::format("{} more pairs.", grouped(std::ssize(pairs) - 20))
                               : "";
  return "<h3>Most confused classes</h3>\n" + table.text() + html_paragraph(rest);
}

// The errors by class, those classes first that are most often not found.
std::string errors_html(const ConfusionMatrix& matrix, const ClassNames& names) {
  struct Errors {
    std::int64_t label, wrong, of, most_taken_for;
  };
  std::vector<Errors> all;
  for (std::int64_t label = 0; label < matrix.classes; ++label) {
    Errors found{label, labels_of(matrix, label) - matrix.at(label, label),
                 labels_of(matrix, label), -1};
    for (std::int64_t c = 0; c < matrix.classes; ++c) {
      const std::int64_t most =
          found.most_taken_for < 0 ? 0 : matrix.at(label, found.most_taken_for);
      if (c != label && matrix.at(label, c) > most) found.most_taken_for = c;
    }
    if (found.wrong > 0) all.push_back(found);
  }
  const auto share = [](const Errors& each) {
    return static_cast<double>(each.wrong) / static_cast<double>(each.of);
  };
  std::ranges::stable_sort(all, std::greater{}, share);
  HtmlTable table({"<class", "errors", "of", "share", "<most taken for"});
  for (std::size_t i = 0; i < std::min(all.size(), std::size_t{10}); ++i)
    table.add({names.of(all[i].label), grouped(all[i].wrong), grouped(all[i].of),
               percent_text(share(all[i])),
               all[i].most_taken_for < 0 ? "-" : names.of(all[i].most_taken_for)});
  if (table.is_empty())
    return html_paragraph("No sample of the test set was taken for another class.");
  return "<h3>Classes with most errors</h3>\n" + table.text();
}

std::string metrics_html(const Evaluation& evaluation, bool of_classes) {
  HtmlTable table({"<metric", "value"});
  table.add({"loss", number_text(evaluation.loss)});
  if (of_classes) table.add({"accuracy", percent_text(evaluation.accuracy)});
  for (const MetricValue& metric : evaluation.metrics)
    if (!std::isnan(metric.value) && metric.confusion.classes == 0)
      table.add(
          {metric.name, metric.is_share ? percent_text(metric.value) : number_text(metric.value)});
  return table.text();
}

}  // namespace

std::string confusion_html(const ConfusionMatrix& matrix, const ClassNames& names) {
  if (matrix.classes == 0) return "";
  if (matrix.classes > most_drawn) return pairs_html(matrix, names);
  return html_figure("Confusion matrix", HeatMap(matrix, names).text(),
                     "Each row is a label, each column a prediction; deeper colour is a larger "
                     "share of the row. Blue is right, red is wrong.");
}

std::string results_html(const Evaluation& evaluation, const ClassNames& names) {
  ConfusionMatrix matrix;
  for (const MetricValue& metric : evaluation.metrics)
    if (metric.confusion.classes > 0) matrix = metric.confusion;
  std::string out = metrics_html(evaluation, matrix.classes > 0);
  if (evaluation.not_finite > 0)
    out += html_paragraph(fmt::format(
        "The outputs for {} of {} samples hold infinities or NaN: none of these counts as right.",
        grouped(evaluation.not_finite), grouped(evaluation.samples)));
  if (matrix.classes == 0)
    return out + html_paragraph("The labels are no classes: there is no confusion matrix.");
  return out + html_figures({confusion_html(matrix, names),
                             "<div>\n" + errors_html(matrix, names) + "</div>\n"});
}

}  // namespace narrowgauge::cli
