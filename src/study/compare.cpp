// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

TrainingOutcome train_case(const CompareTask& task, const CompareCase& each,
                           const CompareWatch& watch) {
  Model model(task.name, task.build, task.seed);
  Trainer trainer(model, task.loss, each.optimizer, each.options);
  trainer.enable_profile();
  if (watch.begin) watch.begin(each, model);
  TrainingOutcome outcome = fit_and_note(
      model, trainer, {each.precision, task.training, task.test, each.fit},
      [&](const Progress& progress) { return !watch.progress || watch.progress(each, progress); });
  outcome.scaled = each.optimizer.loss_scale.kind != LossScale::Kind::off;
  outcome.ema_decay = each.optimizer.ema_decay;
  return outcome;
}

}  // namespace

TrainingOutcome fit_and_note(Model& model, Trainer& trainer, const FitTask& task,
                             const ProgressCallback& progress) {
  TrainingOutcome outcome{.precision = task.precision};
  const DType narrow = trainer.plan().narrow;
  if (narrow != DType::f32) outcome.narrow = narrow;
  outcome.fit = trainer.fit(task.training, task.test, task.options, [&](const Progress& each) {
    const bool goes_on = !progress || progress(each);
    outcome.loss_scale = each.last.scale;
    return goes_on;
  });
  outcome.activation_bytes = trainer.activation_bytes();
  outcome.state_bytes = trainer.state_bytes();
  outcome.sha256 = model.sha256();
  outcome.recomputed = trainer.recomputed();
  outcome.flushed = trainer.flushed();
  outcome.kernels = trainer.kernels();
  return outcome;
}

Comparison compare(const CompareTask& task, const CompareWatch& watch) {
  Comparison comparison;
  for (const CompareCase& each : task.cases) {
    try {
      comparison.runs.push_back(train_case(task, each, watch));
    } catch (const DivergedError& error) {
      comparison.diverged = concat(each.precision, ": ", error.what());
      return comparison;
    }
    comparison.stopped = comparison.runs.back().fit.stopped;
    if (comparison.stopped) return comparison;
  }
  return comparison;
}

const TrainingOutcome& base_of(const std::vector<TrainingOutcome>& runs) {
  for (const char* precision : {"ieee", "f32"})
    for (const TrainingOutcome& run : runs)
      if (run.precision == precision) return run;
  return runs.front();
}

double speed_up(const TrainingOutcome& run, const TrainingOutcome& base) {
  return run.fit.samples_per_second / base.fit.samples_per_second;
}

double accuracy_noise(const Evaluation& a, const Evaluation& b) {
  const auto variance = [](const Evaluation& e) { return e.accuracy * (1 - e.accuracy); };
  return 2 * std::sqrt((variance(a) + variance(b)) /
                       static_cast<double>(std::max<std::int64_t>(a.samples, 1)));
}

double largest_difference(const std::vector<TrainingOutcome>& runs) {
  double largest = 0;
  for (const TrainingOutcome& run : runs)
    largest = std::max(largest, std::abs(run.fit.test.accuracy - base_of(runs).fit.test.accuracy));
  return largest;
}

ContractionUse contraction_use(const std::vector<Trainer::KernelChoice>& kernels) {
  ContractionUse use;
  double inside = 0, all = 0;
  for (const Trainer::KernelChoice& kernel : kernels) {
    all += kernel.milliseconds;
    if (kernel.flops <= 0) continue;
    inside += kernel.milliseconds;
    ++use.count;
    use.widened += kernel.facts.widened;
  }
  if (all > 0) use.share = inside / all;
  return use;
}

}  // namespace narrowgauge
