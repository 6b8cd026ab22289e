// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/common/exit_code.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/progress/metrics.h"
#include "cli/training/trained.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* evaluate_examples = R"(examples:
  narrowgauge evaluate runs/lenet
      on the test set of the data that it was trained on, with the newest checkpoint
  narrowgauge evaluate runs/lenet/best
      the best checkpoint, of a run with --keep-best
  narrowgauge evaluate runs/lenet --data other_digits --amp off
      on other data, in f32 whatever it was trained in)";

struct EvaluateFlags {
  TrainedFlags trained;
  std::vector<std::string> metrics;
  bool json = false;
};

// "000002, step 1,600; RUN/best is another"
std::string taken_checkpoint_text(const TakenCheckpoint& taken) {
  const std::string name = std::filesystem::path(taken.path).filename().string();
  const std::string step = taken.step < 0 ? "without a state" : "step " + grouped(taken.step);
  const char* best = taken.best ? ", the best" : taken.has_best ? "; RUN/best is another" : "";
  return fmt::format("{}, {}{}", name, step, best);
}

void print_evaluation(const EvaluateFlags& flags, const Trained& trained,
                      const Evaluation& result) {
  const Settings& settings = trained.settings;
  const TakenCheckpoint& taken = trained.checkpoint;
  if (flags.json) {
    JsonObject json;
    json.add("event", std::isfinite(result.loss) ? "done" : "diverged")
        .add("run", *flags.trained.run)
        .add("model", settings.model);
    json.add("checkpoint", taken.path).add("step", taken.step).add("best", taken.best);
    if (taken.step < 0) json.add_null("step");
    json.add("data", settings.data).add("amp", name(settings.precision.amp()));
    add_test(json, result);
    json.add("test_samples", result.samples);
    add_text_results(json, words_of(trained.task), result);
    add_metrics(json, result);
    print(json.add("not_finite_samples", result.not_finite).line());
    return;
  }
  print(fmt::format("{} of {} on {} in {}\n", settings.model, *flags.trained.run, settings.data,
                    name(settings.precision.narrow)));
  print(fmt::format("checkpoint      {}\n", taken_checkpoint_text(taken)));
  const ResultWords words = words_of(trained.task);
  if (!words.have_accuracy(result)) return print_test(words, result);
  const auto right = std::llround(result.accuracy * static_cast<double>(result.samples));
  if (words.of_pixels)
    print(fmt::format("test accuracy   {} of the pixels of {} {}\n", percent_text(result.accuracy),
                      grouped(result.samples), words.samples));
  else
    print(fmt::format("test accuracy   {}  ({} of {} {})\n", percent_text(result.accuracy),
                      grouped(right), grouped(result.samples), words.samples));
  print(fmt::format("test loss       {}\n", number_text(result.loss)));
  print_metrics(result);
}

int run_evaluate(const EvaluateFlags& flags) {
  const Trained trained = open_trained(flags.trained, flags.metrics);
  const Evaluation result = trained.session->trainer().evaluate(trained.task.test, trained.batch);
  print_evaluation(flags, trained, result);
  require_finite(result);
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(evaluate, 20) {
  CLI::App& app = add_command(program, "evaluate", "measure a trained network on a test set",
                              evaluate_examples);
  const auto flags = std::make_shared<EvaluateFlags>();
  add_trained(app, flags->trained);
  add_metrics(app, flags->metrics);
  add_switch(app, {"--json", "", "one JSON object"}, flags->json);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return run_evaluate(*flags); },
              [flags] { return settled_flags(flags->trained); }};
  });
}

}  // namespace narrowgauge::cli
