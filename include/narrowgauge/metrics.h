// SPDX-License-Identifier: Apache-2.0
// What an evaluation measures beside loss and accuracy: the metrics that the library has by name,
// and those that a program brings as a small class:
//
//   class LargestError : public MetricAccumulator {
//    public:
//     void add(const MetricBatch& batch) override {
//       for (std::int64_t i = 0; i < batch.prediction.size(); ++i)
//         largest_ = std::max(largest_, std::abs(batch.prediction.at(i) - batch.target.at(i)));
//     }
//     MetricResult result() const override { return {.value = largest_}; }
//
//    private:
//     double largest_ = 0;
//   };
//   options.own_metrics.push_back({.name = "largest_error", .better = Better::lower,
//                                  .begin = [] { return std::make_unique<LargestError>(); }});
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Which values of a metric are better: what keeping the best checkpoint and stopping early go by.
enum class Better : std::uint8_t { higher, lower };

// How often each class was taken for which.
struct NG_API ConfusionMatrix {
  std::int64_t classes = 0;            // 0: nothing was measured
  std::vector<std::int64_t> counts{};  // [classes, classes]: a row a label, a column a prediction
  std::vector<std::int64_t> not_finite{};  // [classes]: labels whose scores hold infinities or NaN
  // How often `label` was taken for `predicted`.
  std::int64_t at(std::int64_t label, std::int64_t predicted) const {
    return counts[static_cast<std::size_t>(label * classes + predicted)];
  }
};

// What a metric makes of all batches of an evaluation.
struct NG_API MetricResult {
  double value = NAN;              // NaN: there was nothing that it can measure
  std::vector<double> by_class{};  // where it was asked for; NaN for a class without a value
  ConfusionMatrix confusion{};     // of the metric "confusion"
};

// A metric that was asked for, and what it measured.
struct NG_API MetricValue {
  std::string name;                // as it was asked for
  double value = 0;                // NaN: there was nothing that it can measure
  Better better = Better::higher;  // which values are better
  bool is_share = false;           // from 0 to 1, shown in percent
  std::vector<double> by_class{};  // see MetricResult
  ConfusionMatrix confusion{};     // see MetricResult
};

// What a metric sees of a batch.
struct NG_API MetricBatch {
  const Tensor& prediction;  // [samples, ...] of a real format: what the network gives
  const Tensor& target;      // [samples, ...]: what the loss compares it with
  double loss = 0;           // mean over the batch
  std::int64_t samples = 0;  // in the batch
  // The label that the loss leaves out, where it has one. Labels that are no class, such as -100,
  // never count.
  std::optional<std::int64_t> ignored{};
  // Which sample of its source each one is, where this is known (Batch::samples); else empty.
  std::span<const std::int64_t> indices{};
};

// One metric over one evaluation. Implement it to bring your own.
class NG_API MetricAccumulator {
 public:
  virtual ~MetricAccumulator();
  virtual void add(const MetricBatch& batch) = 0;  // called for each batch, the last may be smaller
  virtual MetricResult result() const = 0;         // of the batches so far
};

// A metric of a program's own.
struct NG_API OwnMetric {
  std::string name;                                             // in results, logs and tables
  Better better = Better::higher;                               // which values are better
  bool is_share = false;                                        // from 0 to 1, shown in percent
  std::function<std::unique_ptr<MetricAccumulator>()> begin{};  // makes one for each evaluation
};

// Several metrics over one evaluation, for loops of one's own.
class NG_API MetricSet {
 public:
  // Metrics by name, as metric_help() lists them, then a program's own. Throws UsageError for an
  // unknown name and for one without begin().
  explicit MetricSet(const std::vector<std::string>& names, const std::vector<OwnMetric>& own = {});
  void add(const MetricBatch& batch);       // one more of the evaluation
  std::vector<MetricValue> values() const;  // of the batches so far, in the order of the metrics

 private:
  struct Entry {
    MetricValue like;
    std::shared_ptr<MetricAccumulator> accumulator;
  };
  std::vector<Entry> entries_;
};

// The metrics that can be asked for: "accuracy, auc, ...".
NG_API std::string metric_help();
// Which values of a metric are better; throws UsageError naming the metrics there are.
NG_API Better better_of(std::string_view metric);

}  // namespace narrowgauge
