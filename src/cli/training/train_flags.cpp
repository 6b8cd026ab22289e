// SPDX-License-Identifier: Apache-2.0
#include "cli/training/train_flags.h"

#include "cli/common/text.h"
#include "cli/flags/interval.h"
#include "cli/flags/model_precision.h"
#include "cli/progress/watch.h"
#include "cli/task/network_choice.h"
#include "cli/training/compare.h"
#include "io/readers/reader.h"

namespace narrowgauge::cli {
namespace {

void add_run_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"--model,-m", "M", model_help(false), model_choices(false)}, flags.model);
  add_text(app, {"--data,-d", "D", data_help() + "; default: glyphs", data_names()}, flags.data);
  add_amp_or_auto(app, "off, f16, bf16, or auto: the fastest here ($NARROWGAUGE_AMP)",
                  flags.precision);
  add_policy(app, flags.precision);
  add_masters(app, flags.precision);
  add_math_or_f64(app, flags.precision);
  add_overrides(app, flags.precision);
  add_plan(app, "precision plan to train by", flags.precision);
  add_text(app, {"--save-plan", "FILE", "write the precision plan before training"},
           flags.save_plan);
  add_word_list(app, {"--compare", "A,B,..", "train in each of these formats and compare"},
                flags.compare, compare_words);
  add_real(app,
           {"--tolerance", "POINTS", "with --compare: exit code 7 if accuracies differ by more"},
           flags.tolerance);
  add_setting_flags(app, SettingGroup::run, flags.given);
  add_text(app, {"--device", "DEV", "where to run: cpu", {"cpu"}}, flags.device);
}

void add_onnx_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"FILE", "", "a network as a file of ONNX, in place of --model"}, flags.file);
  add_word(app,
           {"--quantize", "F", "train FILE, which may be a run, as it will compute on bytes: int8"},
           flags.quantize, {"int8"});
  add_setting_flags(app, SettingGroup::network, flags.given);
  add_text(app, {"--loss-on", "OUTPUT", "of the file, that the loss is of (the first)"},
           flags.loss_output);
  add_switch(app, {"--train-batch-norm", "", "normalize by the batch where the file has averages"},
             flags.batch_norm);
  add_known_inputs(app, flags.known);
  add_text(app, {"--onnx", "FILE", "write the trained network as a file of ONNX"}, flags.onnx);
}

void add_training_flags(CLI::App& app, TrainFlags& flags) {
  add_setting_flags(app, SettingGroup::training, flags.given);
  add_hyperparameter_flags(app, flags.hyperparameters);
  add_word(app, {"--recompute", "W", "auto: if memory does not suffice; or off (default)"},
           flags.recompute, {"auto", "off"});
}

void add_file_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app,
           {"--output", "DIR", "folder for checkpoints; another run in it is kept aside, as DIR.1"},
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

}  // namespace

void add_train_flags(CLI::App& app, TrainFlags& flags) {
  add_run_flags(app, flags);
  add_setting_flags(app, SettingGroup::data, flags.given);
  add_onnx_flags(app, flags);
  add_text_flags(app, flags.text);
  add_training_flags(app, flags);
  add_setting_flags(app, SettingGroup::ending, flags.given);
  add_file_flags(app, flags);
  add_watch(app, flags.watch);
  add_switch(app, {"--keep-ranges", "", "of values, for `convert RUN --precision int8`"},
             flags.keep_ranges);
  add_switch(app, {"--report", "", "write RUN/report.html at the end, a page about the run"},
             flags.report);
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
  require(saves || !given_value<bool>(flags.given, "keep_best").value_or(false),
          "--keep-best: needs --output or --resume");
  require(!compare || !flags.keep_ranges, "--keep-ranges: cannot be added to --compare");
  require(saves || !flags.keep_ranges, "--keep-ranges: needs --output or --resume");
  require(!flags.quantize || !flags.keep_ranges,
          "--keep-ranges: --quantize has ranges already, which stay");
  require(!compare || !flags.report, "--report: cannot be added to --compare");
  require(saves || !flags.report, "--report: needs --output or --resume");
}

}  // namespace narrowgauge::cli
