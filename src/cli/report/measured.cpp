// SPDX-License-Identifier: Apache-2.0
#include "cli/report/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/training/training_setup.h"
#include "base/threads/parallel.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "narrowgauge/error.h"
#include "study/gradients.h"

namespace narrowgauge::cli {
namespace {

// What is measured cannot be known ahead of the data: what does not apply has no value.
std::vector<std::string> metrics_with(const std::vector<std::string>& also) {
  std::vector<std::string> metrics{"top5", "f1", "confusion", "mse", "mae"};
  for (const std::string& metric : also)
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
  return metrics;
}

int threads_of(const Settings& settings) {
  return settings.threads > 0 ? settings.threads : thread_count();
}

std::vector<Tensor> training_batch(const Task& task, std::int64_t batch) {
  BatchLoader loader(task.training, {.batch = batch, .shuffle = true, .epochs = 1});
  auto next = loader.next();
  require<DataError>(next.has_value(), task.data, ": has no batch of ", batch);
  return std::move(next->tensors);
}

}  // namespace

StepPlan plan_of_step(const Run& run) {
  const Settings& settings = run.record.settings;
  const Task task = network_task(settings, run.record.images);
  const std::int64_t samples = run.record.facts ? run.record.facts->training.samples : 0;
  const std::int64_t steps = std::max<std::int64_t>(samples / settings.batch, 1);
  TrainingSetup setup =
      set_up_training(settings.model, task.build, task.loss, make_optimizer(settings, steps),
                      trainer_options(settings, plan_of(run, settings.precision, {})));
  StepPlan step{std::move(setup.graph), {}};
  step.explanation =
      explain(step.graph, setup.plan, {{"N", settings.batch / settings.accumulation}});
  step.edited = std::ranges::any_of(setup.plan.entries, [](const PlanEntry& entry) {
    return entry.rule == PrecisionRule::edited;
  });
  return step;
}

Measured::Measured(const TrainedFlags& flags, const std::vector<std::string>& also)
    : guesses_(std::make_shared<std::vector<SampleGuess>>()),
      trained_(open_trained(flags, metrics_with(also), {collect_guesses(guesses_)})) {}

Results Measured::results() {
  show_status(fmt::format("measuring on {} test samples", grouped(trained_.task.test_size)));
  Results results;
  results.evaluation = trained_.session->trainer().evaluate(trained_.task.test, trained_.batch);
  std::erase_if(results.evaluation.metrics,
                [](const MetricValue& metric) { return metric.name == guesses_name; });
  results.guesses = std::move(*guesses_);
  show_status("");
  return results;
}

std::vector<ProfileRow> Measured::profile(std::int64_t& steps) {
  constexpr int settling_steps = 2;  // the first compiles and touches memory anew
  constexpr std::int64_t most_steps = 5;
  constexpr std::chrono::seconds enough{10};
  show_status("timing some training steps");
  const Task& task = trained_.task;
  Trainer& trainer = trained_.session->trainer();
  const std::int64_t batch =
      std::min(trained_.settings.batch, task.training_size / trained_.settings.accumulation *
                                            trained_.settings.accumulation);
  const std::vector<Tensor> tensors = training_batch(task, batch);
  for (int i = 0; i < settling_steps; ++i) trainer.step(tensors);
  trainer.enable_profile();
  const auto start = std::chrono::steady_clock::now();
  for (steps = 0; steps < most_steps && std::chrono::steady_clock::now() - start < enough; ++steps)
    trainer.step(tensors);
  trainer.disable_profile();
  show_status("");
  return profile_rows(trainer.kernels(), steps);
}

MeasuredRanges ranges_of(const Run& run, const Task* task) {
  constexpr std::int64_t most_samples = 32;  // all activations are kept at once
  show_status("looking at the numbers of each layer");
  const Settings& settings = run.record.settings;
  const Task network = network_task(settings, run.record.images);
  const ThreadScope threads(threads_of(settings));
  Model model(settings.model, network.build, static_cast<std::uint64_t>(settings.seed));
  load_weights(model, run);
  MeasuredRanges found;
  std::vector<Tensor> batch;
  if (task) {
    found.samples = std::min({settings.batch, task->training_size, most_samples});
    found.gradient_scale = loss_scale_of(run.checkpoint).value_or(1);
    batch = training_batch(*task, found.samples);
  }
  found.layers = layer_ranges(model, network.loss, batch, found.gradient_scale);
  show_status("");
  return found;
}

}  // namespace narrowgauge::cli
