// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/training_log.h"

#include <optional>

#include "api/training/trainer_implementation.h"
#include "narrowgauge/csv_log.h"
#include "narrowgauge/event_file.h"

namespace narrowgauge {
namespace {

std::vector<CsvValue> of_training(const Progress& progress) {
  return {{"epoch", static_cast<double>(progress.epoch + 1)},
          {"loss", progress.last.loss},
          {"epoch_loss", progress.mean_loss},
          {"gradient_norm", progress.last.norm},
          {"learning_rate", progress.last.learning_rate},
          {"loss_scale", progress.last.scale},
          {"skipped_steps", static_cast<double>(progress.skipped_steps)},
          {"samples_per_second", progress.samples_per_second}};
}

std::vector<CsvValue> of_test(const Progress& progress) {
  if (!progress.evaluation) return {};
  const Evaluation& test = *progress.evaluation;
  std::vector<CsvValue> values{{"loss", test.loss}, {"accuracy", test.accuracy}};
  for (const MetricValue& metric : test.metrics) values.push_back({metric.name, metric.value});
  return values;
}

}  // namespace

struct TrainingLog::Implementation {
  std::int64_t every_steps = 1;
  std::optional<CsvLog> csv;
  std::optional<EventFile> events;
  std::optional<Model> model;
  std::optional<Trainer> trainer;
  bool begun = false;

  void begin(std::int64_t step) {
    begun = true;
    if (events && step > 1) events->restart(step);
  }

  void write(std::int64_t step, const Progress& progress) {
    std::vector<CsvValue> row = of_training(progress);
    const std::vector<CsvValue> test = of_test(progress);
    if (events) {
      for (const CsvValue& each : row) events->scalar("train/" + each.column, step, each.value);
      for (const CsvValue& each : test) events->scalar("test/" + each.column, step, each.value);
    }
    for (const CsvValue& each : test) row.push_back({"test_" + each.column, each.value});
    if (csv) csv->add(step, row);
  }

  void write_histograms(std::int64_t step) {
    for (const std::string& name : model->state_names())
      events->histogram("weights/" + name, step, model->state(name));
    for (const NamedTensor& each : trainer->gradients())
      events->histogram("gradients/" + each.name, step, each.tensor);
  }
};

TrainingLog::TrainingLog(const TrainingLogOptions& options)
    : implementation_(std::make_unique<Implementation>()) {
  require(options.every_steps >= 1, "training log: expected every_steps from 1 on, got ",
          options.every_steps);
  if (!options.csv.empty()) implementation_->csv.emplace(options.csv);
  if (!options.events.empty()) implementation_->events.emplace(options.events);
  implementation_->every_steps = options.every_steps;
}

TrainingLog::~TrainingLog() = default;
TrainingLog::TrainingLog(TrainingLog&&) noexcept = default;
TrainingLog& TrainingLog::operator=(TrainingLog&&) noexcept = default;

void TrainingLog::watch(const Model& model, Trainer& trainer) {
  implementation_->model.emplace(ModelAccess::share(model));
  implementation_->trainer.emplace(TrainerAccess::share(trainer));
  trainer.keep_gradients(true);  // of the first step, which may be the last of its epoch
}

void TrainingLog::add(const Progress& progress) {
  Implementation& self = *implementation_;
  if (!progress.checkpoint.empty()) return;
  const std::int64_t step = progress.epoch * progress.batches + progress.batch;
  if (!self.begun) self.begin(step);
  const bool last = progress.batch == progress.batches;  // fit() reports the epoch next
  if (progress.epoch_done || (!last && step % self.every_steps == 0)) self.write(step, progress);
  if (!self.trainer || !self.events) return;
  if (progress.epoch_done) self.write_histograms(step);
  // Only the last step of an epoch pays for the copies.
  self.trainer->keep_gradients(progress.batch + 1 >= progress.batches);
}

void TrainingLog::move_csv(const std::string& path) {
  if (implementation_->csv) implementation_->csv->move_to(path);
}

}  // namespace narrowgauge
