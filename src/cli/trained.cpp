// SPDX-License-Identifier: Apache-2.0
#include "cli/trained.h"

namespace narrowgauge::cli {

void add_trained(CLI::App& app, TrainedFlags& flags) {
  add_required(app, {"RUN", "", "folder that `train --output` made"}, flags.run);
  add_text(app, {"--data,-d", "D", data_help() + " (that of the training)"}, flags.data);
  add_word(app, {"--amp", "A", "compute in off, f16 or bf16 (as it was trained)"}, flags.amp,
           amp_words());
  add_text(app, {"--math", "M", math_help}, flags.math);
  add_whole(app, {"--batch,-b", "N", "samples at once (256)"}, flags.batch, 1);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags.threads, 0);
  add_text(app, {"--device", "DEV", "where to run: cpu"}, flags.device);
}

Trained open_trained(const TrainedFlags& flags, const std::vector<std::string>& metrics) {
  require_device(flags.device);
  Run run = read_run(*flags.run);
  Settings& settings = run.record.settings;
  require_model(settings.model);
  const std::string amp = settle_amp(flags.amp, settings.amp);
  const bool as_trained = amp == settings.amp && amp != "off" && !flags.math;
  settings.amp = amp;
  if (flags.math) settings.math = *flags.math;
  if (flags.data) settings.data = *flags.data;
  if (flags.threads) settings.threads = static_cast<int>(*flags.threads);
  // The trainer only evaluates; it gets no training batch.
  settings.batch = 1;
  settings.schedule = "constant";
  settings.warmup = 0;
  Trained trained{settings, prepare_data(settings.data, run.record.data), nullptr};
  SessionOptions options = as_trained ? plan_of(run) : SessionOptions{};
  options.metrics = metrics;
  trained.session = std::make_unique<Session>(settings, trained.data, options);
  load_weights(trained.session->model(), run);
  trained.batch = flags.batch.value_or(trained.batch);
  return trained;
}

}  // namespace narrowgauge::cli
