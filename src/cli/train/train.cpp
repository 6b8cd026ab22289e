// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "base/text/printable.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/config/command.h"
#include "cli/flags/output_file.h"
#include "cli/progress/metrics.h"
#include "cli/progress/watch.h"
#include "cli/report/report.h"
#include "cli/task/number_task.h"
#include "cli/task/run_network.h"
#include "cli/train/quantized_start.h"
#include "cli/training/compare.h"
#include "cli/training/kept_ranges.h"
#include "cli/training/train_flags.h"
#include "cli/training/training.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* train_examples = R"(examples:
  narrowgauge train --model lenet --data glyphs
      trains in f32 with settings that suit the network
  narrowgauge train --model lenet --data glyphs --amp f16 --output runs/lenet
      in mixed precision, and keeps the result for `narrowgauge evaluate`
  narrowgauge train --resume runs/lenet --epochs 5
      goes on from there; RUN/checkpoints/000007 names an earlier state
  narrowgauge train --model resnet20 --output runs/r20 --checkpoint-every 30min
      saves every half hour, and keeps the last two
  narrowgauge train --model lenet --patience 5 --keep-best --output runs/best
      ends when the test loss has not become smaller for 5 epochs; RUN/best is the best
  narrowgauge train --model resnet20 --data mnist --compare ieee,off,bf16
      trains once in each format from the same seed and prints one table
  narrowgauge train --model lenet --data glyphs --amp f16 --plan edited.txt
      with a precision plan that was saved by --save-plan and edited
  narrowgauge train --model lenet --data glyphs --amp bf16 --master-weights off
      keeps the weights in bf16 alone
  narrowgauge train --model resnet20 --data mnist --opt-level O2
      as apex.amp's level O2 did
  narrowgauge train --model lenet --output runs/a --tensorboard runs/a/events
      and `tensorboard --logdir runs` shows the curves; metrics.csv has them too
  narrowgauge train --model lenet --output runs/a --report
      and runs/a/report.html tells how it went, as `narrowgauge report runs/a` does
  narrowgauge train --model lenet --output runs/a --keep-ranges
      and `narrowgauge convert runs/a --precision int8` needs no samples
  narrowgauge train --model lenet --profile trace.json
      times some steps kernel by kernel; ui.perfetto.dev opens the trace
  narrowgauge train cnn.onnx --data digits.npz --freeze 'a.*' --onnx tuned.onnx
      a network from a file, all but some of its parameters; the result is such a file
  narrowgauge train runs/lenet --quantize int8 --output runs/lenet_int8
      goes on with a trained network as it will compute on bytes; `convert` makes the engine
  narrowgauge train --model tiny-transformer --data bard.txt --output runs/bard
      a language model of the text's characters, for `narrowgauge generate`
  narrowgauge train --config lenet.toml --epochs 5
      flags from a file, as --dump-config prints it; those given here win)";

// "; input bound: 38 % of the time was waiting for samples"
std::string input_bound_text(double share) {
  constexpr double worth_telling = 0.02;
  if (share < worth_telling) return "";
  return fmt::format("; input bound: {} of the time was waiting for samples", percent_text(share));
}

// What a run judges by must be used, be it by what the resumed run was told.
void check_judging(const TrainFlags& flags, const WatchSettings& watch) {
  const bool judges = watch.patience > 0 || watch.keeps_best || watch.plateau > 0;
  require(judges || !flags.given.contains("watch"),
          "--watch: needs --patience, --keep-best or --plateau");
  require(watch.patience > 0 || !flags.given.contains("min_delta"),
          "--min-delta: needs --patience");
}

// Options with the plan that a run follows: the given one, or that of the resumed run.
SessionOptions options_for(const TrainFlags& flags, const Settings& settings,
                           const std::optional<Run>& resumed) {
  if (flags.precision.plan) return {.plan_file = flags.precision.plan};
  return resumed ? plan_of(*resumed, settings.precision, flags.precision) : SessionOptions{};
}

void print_result(const TrainingOutcome& outcome, const Task& task,
                  const std::optional<std::string>& folder, std::int64_t ranges) {
  const ResultWords words = words_of(task);
  const FitResult& fit = outcome.fit;
  print_test(words, fit.test);
  if (ranges > 0)
    print(fmt::format("ranges          for int8 are kept, of {} samples\n", grouped(ranges)));
  if (fit.steps == 0) {
    print("steps           none were left to do; --epochs can ask for more\n");
    return;
  }
  print(fmt::format("loss            {} at first, {} at last\n", number_text(fit.first_loss),
                    number_text(fit.final_loss)));
  print(fmt::format("{:<15} {}{}\n", words.rate_name(),
                    rate_text(words.rate(fit.samples_per_second)),
                    input_bound_text(fit.input_share)));
  if (const std::int64_t damaged = task.damaged())
    print(fmt::format("left out        {} pictures that cannot be read\n", grouped(damaged)));
  print(fmt::format("activations     {}\n", bytes_text(outcome.activation_bytes)));
  print(fmt::format("states          {}\n", bytes_text(outcome.state_bytes)));
  if (const RecomputeReport& again = outcome.recomputed; !again.nodes.empty())
    print(fmt::format("computed again  {} results, which saves {}\n", again.nodes.size(),
                      bytes_text(again.saved_bytes)));
  print(fmt::format("steps           {}, {} skipped\n", grouped(fit.steps), fit.skipped_steps));
  if (outcome.ema_decay > 0)
    print(fmt::format("averages        tested and saved, the weights' with a decay of {}\n",
                      number_text(outcome.ema_decay)));
  if (!fit.ended_early.empty()) print(fmt::format("ended early     {}\n", fit.ended_early));
  const std::string flush = flush_text(outcome);
  if (!flush.empty()) print(fmt::format("gradients       {}\n", flush));
  print(fmt::format("weights         sha256 {}\n", outcome.sha256));
  if (folder) print(fmt::format("saved           {}\n", outcome.fit.checkpoint));
}

int finish_training(const TrainFlags& flags, const TrainingOutcome& outcome, const Task& task,
                    const std::optional<std::string>& folder, std::int64_t ranges) {
  const bool stopped = outcome.fit.stopped;
  if (flags.json) {
    JsonObject json;
    json.add("event", stopped ? "interrupted" : "done")
        .add_all(outcome_json(outcome, words_of(task)));
    if (!task.pictures.empty()) json.add("damaged_pictures", task.damaged());
    if (ranges > 0) json.add("calibration_samples", ranges);
    if (folder) json.add("output", *folder).add("checkpoint", outcome.fit.checkpoint);
    print(json.line());
  } else if (!stopped) {
    print_result(outcome, task, folder, ranges);
  }
  if (!stopped) return ExitCode::ok;
  const std::string steps = fmt::format("stopped after {} steps", grouped(outcome.fit.steps));
  if (!folder)
    say("interrupted", steps + "; nothing is saved without --output");
  else if (outcome.fit.checkpoint.empty())
    say("interrupted", steps + ", none of them applied; nothing is saved");
  else
    say("interrupted", fmt::format("{}; `narrowgauge train --resume {}` goes on", steps, *folder));
  return interrupted_code();
}

// The images of a resumed run, for the same network.
std::optional<ImageFacts> images_of(const std::optional<Run>& resumed, const Settings& settings) {
  const bool same = resumed && resumed->record.settings.model == settings.model;
  return same ? resumed->record.images : std::nullopt;
}

void resume(Trainer& trainer, Run& run, const Task& task, std::int64_t epochs) {
  if (const RunRecord& record = run.record; record.facts && task.facts)
    run.checkpoint.differences =
        differences({record.settings.data, *record.facts}, {task.data, *task.facts});
  trainer.resume(run.checkpoint);
  require(trainer.epochs_done() <= epochs, "--resume: ", run.checkpoint.path, " has done ",
          trainer.epochs_done(), " epochs already, more than the ", epochs, " of --epochs");
}

// The weights that evaluations took.
void write_onnx(Session& session, const std::string& path) {
  const bool averages = session.settings().ema_decay > 0 && session.trainer().applied_steps() > 0;
  if (averages) session.trainer().swap_averages();
  session.model().to_onnx(path);
}

// Ends a training that is saved. An interruption of what is gathered after it leaves the rest.
int conclude(const TrainFlags& flags, Session& session, const TrainingOutcome& outcome,
             const Task& task, const std::optional<std::string>& folder) {
  const bool stopped = outcome.fit.stopped;
  if (flags.onnx && !stopped) write_onnx(session, *flags.onnx);
  if (!flags.keep_ranges || stopped) return finish_training(flags, outcome, task, folder, 0);
  const auto ranges =
      keep_ranges(*folder, session.settings(), task, /*quiet=*/flags.quiet || flags.json);
  const int code = finish_training(flags, outcome, task, folder, ranges.value_or(0));
  if (ranges) return code;
  say("interrupted",
      fmt::format("no ranges are kept; `narrowgauge train --resume {} --keep-ranges` keeps them",
                  *folder));
  return interrupted_code();
}

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

// However a training ends, no copy of a network stays that no checkpoint names.
struct UnusedNetworks {
  explicit UnusedNetworks(std::optional<std::string> run) : folder(std::move(run)) {}
  ~UnusedNetworks() {
    if (folder) remove_unused_networks(*folder);
  }
  UnusedNetworks(const UnusedNetworks&) = delete;
  UnusedNetworks& operator=(const UnusedNetworks&) = delete;
  std::optional<std::string> folder;
};

// What a training begins with.
struct Beginning {
  std::optional<Run> resumed;
  Settings settings;
};

Beginning begin(const TrainFlags& flags) {
  check_combinations(flags);
  require_apart("--onnx", flags.onnx, {flags.file.value_or(""), flags.data.value_or("")});
  require_apart("--save-plan", flags.save_plan, {});
  Beginning found;
  if (flags.resume) found.resumed = read_run(*flags.resume);
  found.settings =
      settle(flags, found.resumed ? std::optional(found.resumed->record.settings) : std::nullopt);
  check_judging(flags, found.settings.watch);
  return found;
}

int run_train(TrainFlags flags) {
  const QuantizedStart quantized(flags);
  auto [resumed, settings] = begin(flags);
  std::optional<std::string> folder = flags.output;
  if (!folder && flags.resume) folder = run_folder_of(*flags.resume);
  if (!flags.compare.empty()) return run_compare(flags, settings);
  CheckpointOptions checkpoints = checkpoints_in(folder, flags, settings);

  const Task task = prepare_training(settings, images_of(resumed, settings));
  if (flags.keep_ranges) require_needs_ranges(settings, task);
  fit_batch(settings, task, flags);
  keep_numbers_wide(settings.precision, task);
  const std::string reason = settle_auto(settings, task);
  SessionOptions options = options_for(flags, settings, resumed);
  options.plan_reason = reason;
  options.trace = flags.trace.has_value();
  options.metrics = settings.metrics;
  options.recompute = recompute_of(flags);
  Session session(settings, task, options);
  take_weights(session.model(), flags);
  if (resumed) resume(session.trainer(), *resumed, task, settings.epochs);
  const UnusedNetworks unused(folder);
  keep_record(checkpoints, settings, task);
  const bool goes_on = resumed && folder && is_same_folder(run_folder_of(*flags.resume), *folder);
  if (resumed && folder) take_best(*resumed, run_folder_of(*flags.resume), checkpoints);
  resumed.reset();
  if (flags.save_plan) save_plan(session.trainer().plan(), *flags.save_plan);
  Watch watch(flags.watch, checkpoints, goes_on, session.model(), session.trainer());
  const TrainingOutcome outcome = train(session, task, style_of(flags), checkpoints,
                                        [&](const Progress& progress) { watch.add(progress); });
  watch.write_profile(flags.json);
  return conclude(flags, session, outcome, task, folder);
}

// What the training held in memory is gone by the time that the page is written.
int train_and_report(const TrainFlags& flags) {
  const int code = run_train(flags);
  if (code != ExitCode::ok || !flags.report) return code;
  const std::string folder = flags.output ? *flags.output : run_folder_of(*flags.resume);
  ReportFlags report;
  report.trained.run = folder;
  report.json = flags.json;
  return run_report(report);
}

}  // namespace

NG_COMMAND(train, 10) {
  CLI::App& app = add_command(program, "train", "train a network, in f32 or in mixed precision",
                              train_examples);
  const auto flags = std::make_shared<TrainFlags>();
  add_train_flags(app, *flags);
  add_dump_config(app);
  when_chosen(app, [flags, &action] {
    action = {[flags] { return train_and_report(*flags); },
              [flags] {
                const QuantizedStart quantized(*flags);
                return settled_for_data(*flags, begin(*flags).settings);
              }};
  });
}

}  // namespace narrowgauge::cli
