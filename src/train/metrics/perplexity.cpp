// SPDX-License-Identifier: Apache-2.0
// exp of the mean cross entropy of the labels in nats, whatever the loss smooths or weights.
#include <algorithm>

#include "train/metrics/labels.h"
#include "train/metrics/metric.h"

namespace narrowgauge {
namespace {

double cross_entropy(const LabeledScores& each) {
  const double highest = *std::ranges::max_element(each.scores);
  double sum = 0;
  for (const float score : each.scores) sum += std::exp(score - highest);
  return highest + std::log(sum) - each.scores[static_cast<std::size_t>(each.label)];
}

class Perplexity : public MetricAccumulator {
 public:
  void add(const MetricBatch& batch) override {
    fits_ = for_each_label(batch,
                           [&](const LabeledScores& each) {
                             sum_ += each.finite ? cross_entropy(each) : NAN;
                             ++count_;
                           }) &&
            fits_;
  }
  MetricResult result() const override {
    return {.value = fits_ && count_ > 0 ? std::exp(sum_ / count_) : NAN};
  }

 private:
  double sum_ = 0, count_ = 0;
  bool fits_ = true;
};

BeginMetric make_perplexity(std::string_view word) {
  if (word != "perplexity") return {};
  return [] { return std::make_unique<Perplexity>(); };
}

}  // namespace
}  // namespace narrowgauge

NG_METRIC(perplexity, "perplexity", "exp of the mean cross entropy of the labels", false,
          Better::lower, make_perplexity)
