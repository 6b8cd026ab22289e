// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/metrics.h"
#include "cli/training.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  narrowgauge evaluate runs/lenet
      on the test set of the data that it was trained on
  narrowgauge evaluate runs/lenet --data other_digits --amp off
      on other data, in f32 whatever it was trained in)";

struct Flags {
  std::optional<std::string> run, data, amp, math, device;
  std::optional<std::int64_t> batch, threads;
  std::vector<std::string> metrics;
  bool json = false;
};

void print_evaluation(const Flags& flags, const Settings& settings, const Evaluation& result) {
  if (flags.json) {
    JsonObject json;
    json.add("event", std::isfinite(result.loss) ? "done" : "diverged")
        .add("run", *flags.run)
        .add("model", settings.model);
    json.add("data", settings.data).add("amp", settings.amp);
    json.add("test_accuracy", result.accuracy).add("test_loss", result.loss);
    json.add("test_samples", result.samples);
    add_metrics(json, result);
    print(json.add("not_finite_samples", result.not_finite).line());
    return;
  }
  const auto right = std::llround(result.accuracy * static_cast<double>(result.samples));
  print(fmt::format("{} of {} on {} in {}\n", settings.model, *flags.run, settings.data,
                    format_word(settings.amp)));
  print(fmt::format("test accuracy   {}  ({} of {} images)\n", percent_text(result.accuracy),
                    grouped(right), grouped(result.samples)));
  print(fmt::format("test loss       {}\n", number_text(result.loss)));
  print_metrics(result);
}

int run_evaluate(const Flags& flags) {
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
  const ImageData data = prepare_data(settings.data, run.record.data);
  // The trainer only evaluates; it gets no training batch.
  settings.batch = 1;
  settings.schedule = "constant";
  settings.warmup = 0;
  SessionOptions options = as_trained ? plan_of(run) : SessionOptions{};
  options.metrics = flags.metrics;
  Session session(settings, data, options);
  load_weights(session.model(), run);
  const Evaluation result = session.trainer().evaluate(data.test, flags.batch.value_or(256));
  print_evaluation(flags, settings, result);
  require_finite(result);
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(evaluate, 20) {
  CLI::App& app =
      add_command(program, "evaluate", "measure a trained network on a test set", examples);
  const auto flags = std::make_shared<Flags>();
  add_required(app, {"RUN", "", "folder that `train --output` made"}, flags->run);
  add_text(app, {"--data,-d", "D", data_help() + " (that of the training)"}, flags->data);
  add_metrics(app, flags->metrics);
  add_word(app, {"--amp", "A", "compute in off, f16 or bf16 (as it was trained)"}, flags->amp,
           amp_words());
  add_text(app, {"--math", "M", math_help}, flags->math);
  add_whole(app, {"--batch,-b", "N", "samples at once (256)"}, flags->batch, 1);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags->threads, 0);
  add_text(app, {"--device", "DEV", "where to run: cpu"}, flags->device);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  when_chosen(app, [flags, &action] { action = [flags] { return run_evaluate(*flags); }; });
}

}  // namespace narrowgauge::cli
