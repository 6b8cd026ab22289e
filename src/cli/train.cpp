// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <memory>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/compare.h"
#include "cli/described.h"
#include "cli/interval.h"
#include "cli/metrics.h"
#include "cli/network_choice.h"
#include "cli/run_network.h"
#include "cli/training.h"
#include "cli/watch.h"
#include "ops/training/schedules/schedule.h"
#include "train/optimizers/table.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
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
  narrowgauge train --model lenet --profile trace.json
      times some steps kernel by kernel; ui.perfetto.dev opens the trace
  narrowgauge train cnn.onnx --data digits.npz --freeze 'a.*' --onnx tuned.onnx
      a network from a file, all but some of its parameters; the result is such a file)";

void add_run_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"--model,-m", "M", model_help(false)}, flags.model);
  add_text(app, {"--data,-d", "D", data_help() + "; default: glyphs"}, flags.data);
  add_amp_or_auto(app, "off, f16, bf16, or auto: the fastest here ($NARROWGAUGE_AMP)",
                  flags.precision);
  add_policy(app, flags.precision);
  add_masters(app, flags.precision);
  add_math_or_f64(app, flags.precision);
  add_overrides(app, flags.precision);
  add_text(app, {"--plan", "FILE", "precision plan to train by"}, flags.precision.plan);
  add_text(app, {"--save-plan", "FILE", "write the precision plan before training"},
           flags.save_plan);
  add_word_list(app, {"--compare", "A,B,..", "train in each of these formats and compare"},
                flags.compare, compare_words);
  add_real(app,
           {"--tolerance", "POINTS", "with --compare: exit code 7 if accuracies differ by more"},
           flags.tolerance);
  add_metrics(app, flags.metrics);
  add_text(app, {"--device", "DEV", "where to run: cpu"}, flags.device);
}

void add_onnx_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"FILE", "", "a network as a file of ONNX, in place of --model"}, flags.file);
  add_text(app,
           {"--loss", "L",
            "what is minimised, with numbers as in \"focal(gamma=3)\": " + choices(loss_names()) +
                ", or output:NAME, which is a loss (softmax_cross_entropy)"},
           flags.loss);
  add_text(app, {"--loss-on", "OUTPUT", "of the file, that the loss is of (the first)"},
           flags.loss_output);
  add_texts(app, {"--freeze", "PATTERN", "parameters that keep their values, as 'features.*'"},
            flags.freeze);
  add_texts(app,
            {"--group", "G",
             "settings of parameters, as 'head.*: rate=10, weight_decay=0'; the last that fits"},
            flags.groups);
  add_switch(app, {"--train-batch-norm", "", "normalize by the batch where the file has averages"},
             flags.batch_norm);
  add_text(app, {"--mean", "A,B,..", "of the pixels from 0 to 1, by channel (the training set's)"},
           flags.mean);
  add_text(app, {"--deviation", "A,B,..", "by which pixels are divided (the training set's)"},
           flags.deviation);
  add_known_inputs(app, flags.known);
  add_text(app, {"--onnx", "FILE", "write the trained network as a file of ONNX"}, flags.onnx);
}

void add_training_flags(CLI::App& app, TrainFlags& flags) {
  add_whole(app, {"--epochs,-e", "N", "passes over the data (3; resnet20: 12)"}, flags.epochs, 1);
  add_whole(app, {"--batch,-b", "N", "samples in a step (128)"}, flags.batch, 1);
  add_whole(app, {"--accumulate", "N", "each batch in N equal parts, in less memory (1)"},
            flags.accumulation, 1);
  add_word(app, {"--optimizer,-o", "O", described(optimizers(), "sgd")}, flags.optimizer,
           optimizer_names());
  add_real(app, {"--lr", "X", "learning rate (sgd: 0.01 to 0.1, by network; adam: 0.001)"},
           flags.learning_rate);
  add_word(app, {"--schedule", "S", "of the learning rate; " + described(schedules(), "cosine")},
           flags.schedule, schedule_names());
  add_whole(app, {"--warmup", "N", "steps of growing from 0 (mlp, lenet: 0; else 200 or a tenth)"},
            flags.warmup, 0);
  add_hyperparameter_flags(app, flags.hyperparameters);
  add_switch(app, {"--decay-matrices", "", "no weight decay on biases and normalization"},
             flags.decay_matrices);
  add_real(app, {"--clip", "X", "largest norm of the gradients (0: no limit)"}, flags.clip);
  add_real(app, {"--clip-value", "X", "largest gradient of each weight (0: no limit)"},
           flags.clip_value);
  add_real(app, {"--ema-decay", "X", "keep moving averages of the weights, as 0.999, and use them"},
           flags.ema_decay);
  add_text(app, {"--loss-scale", "S", "dynamic (default with f16), off, or a number that stays"},
           flags.loss_scale);
  add_whole(app, {"--seed", "N", "of weights and order of samples (1)"}, flags.seed, 0);
  add_whole(app, {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"}, flags.threads, 0);
  add_switch(app, {"--deterministic", "", "the same bits for any number of threads"},
             flags.deterministic);
  add_word(app, {"--recompute", "W", "auto: if memory does not suffice; or off (default)"},
           flags.recompute, {"auto", "off"});
}

void add_ending_flags(CLI::App& app, TrainFlags& flags) {
  add_text(
      app,
      {"--watch", "M", "metric of the test set, for --patience, --keep-best, --plateau (loss)"},
      flags.watched);
  add_whole(app, {"--patience", "N", "end after N epochs in a row that were no better (0: never)"},
            flags.patience, 0);
  add_real(app,
           {"--min-delta", "X", "by more than which a value must be better for --patience (0)"},
           flags.min_delta);
  add_switch(app, {"--keep-best", "", "keep the best checkpoint too, as RUN/best"},
             flags.keep_best);
  add_real(app, {"--plateau", "X", "learning rate times X after 10 epochs that were no better"},
           flags.plateau);
  add_whole(app, {"--max-skips", "N", "end after N skipped steps in a row, with exit code 5 (100)"},
            flags.max_skips, 1);
}

void add_file_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"--output", "DIR", "folder for checkpoints: weights, state, plan, settings"},
           flags.output);
  add_text(app, {"--checkpoint-every", "N", "steps, or 30s, 5min, 2h, 1epoch (default)"},
           flags.checkpoint_every);
  add_whole(app, {"--keep", "N", "checkpoints: the last so many (2)"}, flags.keep, 1);
  add_text(app, {"--resume", "DIR", "go on with this run, and save there or in --output"},
           flags.resume);
  add_text(app, {"--weights", "FILE", "start from these weights (safetensors)"}, flags.weights);
  add_word(app, {"--weights-match", "W", "exact (default), or shape: what fits, the rest anew"},
           flags.weights_match, {"exact", "shape"});
  add_switch(app, {"--json", "", "one JSON object a line, the last with \"event\":\"done\""},
             flags.json);
  add_switch(app, {"--quiet,-q", "", "no progress"}, flags.quiet);
  add_word(app, {"--trace", "WHAT", "passes: what each pass of compilation does, on stderr"},
           flags.trace, {"passes"});
}

void check_combinations(const TrainFlags& flags) {
  const bool compare = !flags.compare.empty();
  require(compare || !flags.tolerance, "--tolerance: needs --compare");
  const PrecisionFlags& precision = flags.precision;
  require(!compare || !precision.amp, "--compare: names the formats itself, --amp cannot be added");
  require(!compare || !precision.level,
          "--compare: names the formats itself, --opt-level cannot be added");
  require(!compare || !precision.in_f64,
          "--compare: names the formats itself, --math f64 cannot be added");
  require(!compare || !precision.plan,
          "--compare: --plan holds one format, train without --compare");
  require(!compare || !flags.save_plan, "--compare: has several plans, --save-plan takes one");
  require(!compare || !flags.resume, "--compare: starts anew, --resume cannot be added");
  check_plan_alone(precision);
  require(flags.weights || !flags.weights_match, "--weights-match: needs --weights");
  require(!flags.weights || !flags.resume, "--weights: --resume has weights of its own");
  const bool saves = flags.output || flags.resume;
  require(saves || !flags.checkpoint_every, "--checkpoint-every: needs --output or --resume");
  check_watch(flags.watch, saves, compare);
  if (flags.checkpoint_every) parse_interval("--checkpoint-every", *flags.checkpoint_every);
  require(saves || !flags.keep, "--keep: needs --output or --resume");
  require(saves || !flags.keep_best, "--keep-best: needs --output or --resume");
}

// What a run judges by must be used, be it by what the resumed run was told.
void check_judging(const TrainFlags& flags, const WatchSettings& watch) {
  const bool judges = watch.patience > 0 || watch.keeps_best || watch.plateau > 0;
  require(judges || !flags.watched, "--watch: needs --patience, --keep-best or --plateau");
  require(watch.patience > 0 || !flags.min_delta, "--min-delta: needs --patience");
}

// Options with the plan that a run follows: the given one, or that of the resumed run.
SessionOptions options_for(const TrainFlags& flags, const Settings& settings,
                           const std::optional<Run>& resumed) {
  if (flags.precision.plan) return {.plan_file = flags.precision.plan};
  return resumed ? plan_of(*resumed, settings.precision, flags.precision) : SessionOptions{};
}

void print_result(const TrainingOutcome& outcome, const std::optional<std::string>& folder) {
  const FitResult& fit = outcome.fit;
  print(fmt::format(
      "test accuracy   {}  ({} of {} images, loss {:.4f})\n", percent_text(fit.test.accuracy),
      grouped(std::llround(fit.test.accuracy * static_cast<double>(fit.test.samples))),
      grouped(fit.test.samples), printable(fit.test.loss)));
  print_metrics(fit.test);
  if (fit.steps == 0) {
    print("steps           none were left to do; --epochs can ask for more\n");
    return;
  }
  print(fmt::format("loss            {} at first, {} at last\n", number_text(fit.first_loss),
                    number_text(fit.final_loss)));
  print(fmt::format("samples/s       {}\n", rate_text(fit.samples_per_second)));
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

int finish(const TrainFlags& flags, const TrainingOutcome& outcome,
           const std::optional<std::string>& folder) {
  const bool stopped = outcome.fit.stopped;
  if (flags.json) {
    JsonObject json;
    json.add("event", stopped ? "interrupted" : "done").add_all(outcome_json(outcome));
    if (folder) json.add("output", *folder).add("checkpoint", outcome.fit.checkpoint);
    print(json.line());
  } else if (!stopped) {
    print_result(outcome, folder);
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

int run_train(const TrainFlags& flags) {
  check_combinations(flags);
  std::optional<std::string> folder = flags.output;
  if (!folder && flags.resume) folder = run_folder_of(*flags.resume);
  std::optional<Run> resumed;
  if (flags.resume) resumed = read_run(*flags.resume);
  Settings settings =
      settle(flags, resumed ? std::optional(resumed->record.settings) : std::nullopt);
  check_judging(flags, settings.watch);
  if (!flags.compare.empty()) return run_compare(flags, settings);
  CheckpointOptions checkpoints = checkpoints_in(folder, flags, settings);

  const Task task = prepare_training(settings, images_of(resumed, settings));
  const std::string reason = settle_auto(settings, task);
  SessionOptions options = options_for(flags, settings, resumed);
  options.plan_reason = reason;
  options.trace = flags.trace.has_value();
  options.metrics = flags.metrics;
  options.recompute = recompute_of(flags);
  Session session(settings, task, options);
  take_weights(session.model(), flags);
  if (resumed) resume(session.trainer(), *resumed, task, settings.epochs);
  keep_record(checkpoints, settings, task);
  if (resumed && folder) take_best(*resumed, run_folder_of(*flags.resume), checkpoints);
  resumed.reset();
  if (flags.save_plan) save_plan(session.trainer().plan(), *flags.save_plan);
  Watch watch(flags.watch, folder, session.model(), session.trainer());
  const TrainingOutcome outcome = train(session, task, style_of(flags), checkpoints,
                                        [&](const Progress& progress) { watch.add(progress); });
  if (folder) remove_unused_networks(*folder);
  watch.write_profile(flags.json);
  if (flags.onnx && !outcome.fit.stopped) write_onnx(session, *flags.onnx);
  return finish(flags, outcome, folder);
}

}  // namespace

NG_COMMAND(train, 10) {
  CLI::App& app =
      add_command(program, "train", "train a network, in f32 or in mixed precision", examples);
  const auto flags = std::make_shared<TrainFlags>();
  add_run_flags(app, *flags);
  add_onnx_flags(app, *flags);
  add_training_flags(app, *flags);
  add_ending_flags(app, *flags);
  add_file_flags(app, *flags);
  add_watch(app, flags->watch);
  when_chosen(app, [flags, &action] { action = [flags] { return run_train(*flags); }; });
}

}  // namespace narrowgauge::cli
