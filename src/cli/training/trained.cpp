// SPDX-License-Identifier: Apache-2.0
#include "cli/training/trained.h"

#include <algorithm>
#include <filesystem>

#include "io/readers/reader.h"

namespace narrowgauge::cli {

void add_trained(CLI::App& app, TrainedFlags& flags) {
  add_required(app, {"RUN", "", "folder that `train --output` made"}, flags.run);
  add_text(app, {"--data,-d", "D", data_help() + " (that of the training)", data_names()},
           flags.data);
  add_amp(app, "compute in off, f16 or bf16 (as it was trained)", flags.precision);
  add_math_or_f64(app, flags.precision);
  add_whole(app, {"--batch,-b", "N", "samples at once (256)"}, flags.batch, 1);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags.threads, 0);
  add_text(app, {"--device", "DEV", "where to run: cpu", {"cpu"}}, flags.device);
}

SettledFlags settled_flags(const TrainedFlags& flags) {
  require_device(flags.device);
  const Settings settings = read_run(*flags.run).record.settings;
  const RunPrecision precision = settle_precision(flags.precision, settings.precision);
  return {{"data", {settings.data}},
          {"amp", {std::string(name(precision.amp()))}},
          {"batch", {std::to_string(usual_batch)}},
          {"threads", {std::to_string(settings.threads)}},
          {"device", {"cpu"}}};
}

Opened open_network(const TrainedFlags& flags) {
  require_device(flags.device);
  Opened opened{read_run(*flags.run), nullptr};
  const RunRecord& record = opened.run.record;
  require_network(record.settings);
  const RunPrecision& then = record.settings.precision;
  const RunPrecision now = settle_precision(flags.precision, then);
  opened.model = std::make_unique<Model>(model_of(record.settings, record.images));
  load_weights(*opened.model, opened.run);
  if (!is_as_trained(now, then, flags.precision)) opened.model->set_precision(now);
  return opened;
}

Session session_of(const Run& run, Settings settings, const Task& task,
                   const SessionOptions& options) {
  settings.batch = 1;
  settings.schedule = "constant";
  settings.warmup = 0;
  Session session(settings, task, options);
  load_weights(session.model(), run);
  return session;
}

namespace {

// Other data than those of the training are for the test as a whole.
void take_data(Settings& settings, const std::string& data) {
  std::error_code ignored;
  const bool same =
      data == settings.data || std::filesystem::equivalent(data, settings.data, ignored);
  if (!same) settings.samples.test_share = 1;
  settings.data = data;
}

}  // namespace

Trained open_trained(const TrainedFlags& flags, const std::vector<std::string>& metrics,
                     const std::vector<OwnMetric>& own_metrics) {
  require_device(flags.device);
  Run run = read_run(*flags.run);
  Settings& settings = run.record.settings;
  require_network(settings);
  const RunPrecision precision = settle_precision(flags.precision, settings.precision);
  SessionOptions options = plan_of(run, precision, flags.precision);
  settings.precision = precision;
  if (flags.data) take_data(settings, *flags.data);
  if (flags.threads) settings.threads = static_cast<int>(*flags.threads);
  Trained trained{settings, taken_of(run), prepare_task(settings, run.record.images), nullptr};
  options.metrics = metrics;
  options.own_metrics = own_metrics;
  trained.session = std::make_unique<Session>(session_of(run, settings, trained.task, options));
  const bool of_pixels =
      (trained.task.images && trained.task.images->masks) || gives_image(settings);
  if (trained.task.text || of_pixels) trained.batch = std::min(trained.batch, settings.batch);
  trained.batch = flags.batch.value_or(trained.batch);
  return trained;
}

}  // namespace narrowgauge::cli
