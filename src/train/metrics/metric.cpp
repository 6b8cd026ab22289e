// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric.h"

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

class Mean : public MetricAccumulator {
 public:
  explicit Mean(std::function<PartialMean(const MetricBatch&)> part) : part_(std::move(part)) {}
  void add(const MetricBatch& batch) override {
    const PartialMean part = part_(batch);
    sum_ += part.sum;
    count_ += part.count;
  }
  MetricResult result() const override { return {.value = count_ > 0 ? sum_ / count_ : 0}; }

 private:
  std::function<PartialMean(const MetricBatch&)> part_;
  double sum_ = 0, count_ = 0;
};

}  // namespace

MetricAccumulator::~MetricAccumulator() = default;

std::string metric_help() { return listed_names(metrics()); }
Better better_of(std::string_view metric) { return find_metric(metric).metric->better; }

ChosenMetric find_metric(std::string_view word) {
  for (const Metric* metric : metrics())
    if (BeginMetric begin = metric->make(word)) return {metric, std::move(begin)};
  throw UsageError(concat("metric: expected one of ", metric_help(), ", got '", word, '\''));
}

BeginMetric mean_of(std::function<PartialMean(const MetricBatch&)> part) {
  return [part = std::move(part)] { return std::make_unique<Mean>(part); };
}

ByClass by_class(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return {};
  word.remove_prefix(name.size());
  const bool asked = word == "_by_class";
  return {asked || word.empty(), asked};
}

double mean_of_known(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values)
    if (!std::isnan(value)) sum += value, ++count;
  return count > 0 ? sum / count : NAN;
}

MetricSet::MetricSet(const std::vector<std::string>& names, const std::vector<OwnMetric>& own) {
  for (const std::string& name : names) {
    const ChosenMetric chosen = find_metric(name);
    entries_.push_back(
        {MetricValue{
             .name = name, .better = chosen.metric->better, .is_share = chosen.metric->is_share},
         chosen.begin()});
  }
  for (const OwnMetric& metric : own) {
    auto accumulator = metric.begin ? metric.begin() : nullptr;
    require(accumulator != nullptr, "metric '", metric.name,
            "': expected begin() to make an accumulator, got none");
    entries_.push_back({{.name = metric.name, .better = metric.better, .is_share = metric.is_share},
                        std::move(accumulator)});
  }
}

void MetricSet::add(const MetricBatch& batch) {
  for (const Entry& entry : entries_) entry.accumulator->add(batch);
}

std::vector<MetricValue> MetricSet::values() const {
  std::vector<MetricValue> values;
  for (const Entry& entry : entries_) {
    MetricResult result = entry.accumulator->result();
    MetricValue value = entry.like;
    value.value = result.value;
    value.by_class = std::move(result.by_class);
    value.confusion = std::move(result.confusion);
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace narrowgauge
