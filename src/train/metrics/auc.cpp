// SPDX-License-Identifier: Apache-2.0
// The area under the receiver operating characteristic: how often a score of the class stands above
// one of another, where equal scores count half (Mann and Whitney 1947). Two classes are ranked by
// the difference of their scores; of more, each is ranked against all others by its probability.
#include <algorithm>

#include "train/metrics/labels.h"
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

struct Ranked {
  double score = 0;
  bool positive = false;
};

// NaN where all are of one kind. Sorts.
double area(std::vector<Ranked>& all) {
  std::ranges::sort(all, {}, &Ranked::score);
  double below = 0, pairs = 0, positives = 0;  // below: negatives of lower scores
  for (auto first = all.begin(); first != all.end();) {
    const auto last =
        std::find_if(first, all.end(), [&](const Ranked& r) { return r.score != first->score; });
    const auto here =
        static_cast<double>(std::count_if(first, last, [](const Ranked& r) { return r.positive; }));
    const double others = static_cast<double>(last - first) - here;
    pairs += here * (below + others / 2);
    positives += here;
    below += others;
    first = last;
  }
  return positives > 0 && below > 0 ? pairs / (positives * below) : NAN;
}

class Auc : public MetricAccumulator {
 public:
  explicit Auc(bool by_class) : by_class_(by_class) {}

  void add(const MetricBatch& batch) override {
    const std::int64_t classes = classes_of(batch);
    fits_ = fits_ && classes > 1 && (classes_ == 0 || classes_ == classes);
    if (!fits_) return;
    classes_ = classes;
    for_each_label(batch, [&](const LabeledScores& each) { keep(each); });
  }

  MetricResult result() const override {
    if (!fits_ || labels_.empty()) return {};
    if (classes_ == 2) return {.value = area_of(0, 1), .by_class = {}};
    std::vector<double> each;
    for (std::int64_t c = 0; c < classes_; ++c)
      each.push_back(area_of(static_cast<std::size_t>(c), c));
    return {.value = mean_of_known(each), .by_class = by_class_ ? each : std::vector<double>()};
  }

 private:
  // Scores that are not finite agree with nothing: they rank below all others for their own class,
  // and above all others for the rest.
  void keep(const LabeledScores& each) {
    labels_.push_back(each.label);
    const auto ranked = [&](std::int64_t c, double score) {
      scores_.push_back(each.finite ? score : each.label == c ? -INFINITY : INFINITY);
    };
    if (classes_ == 2) return ranked(1, static_cast<double>(each.scores[1]) - each.scores[0]);
    const double highest = *std::ranges::max_element(each.scores);
    double sum = 0;
    for (const float score : each.scores) sum += std::exp(score - highest);
    for (std::int64_t c = 0; c < classes_; ++c)
      ranked(c, std::exp(each.scores[static_cast<std::size_t>(c)] - highest) / sum);
  }

  double area_of(std::size_t column, std::int64_t positive) const {
    const std::size_t columns = scores_.size() / labels_.size();
    std::vector<Ranked> ranked;
    for (std::size_t i = 0; i < labels_.size(); ++i)
      ranked.push_back({scores_[i * columns + column], labels_[i] == positive});
    return area(ranked);
  }

  bool by_class_, fits_ = true;
  std::int64_t classes_ = 0;
  std::vector<double> scores_;  // [labels, 1 or classes]
  std::vector<std::int64_t> labels_;
};

BeginMetric make_auc(std::string_view word) {
  const ByClass wanted = by_class(word, "auc");
  if (!wanted.matches) return {};
  return [wanted] { return std::make_unique<Auc>(wanted.asked); };
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(auc, "auc",
          "area under the ROC curve, of several classes the mean of one against the rest; "
          "auc_by_class adds each",
          true, Better::higher, make_auc)
