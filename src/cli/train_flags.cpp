// SPDX-License-Identifier: Apache-2.0
#include "cli/train_flags.h"

#include "cli/common/text.h"
#include "cli/compare.h"
#include "cli/described.h"
#include "cli/interval.h"
#include "cli/metrics.h"
#include "cli/model_precision.h"
#include "cli/network_choice.h"
#include "cli/watch.h"
#include "io/readers/reader.h"
#include "narrowgauge/images.h"
#include "ops/training/schedules/schedule.h"
#include "train/optimizers/table.h"

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
  add_metrics(app, flags.metrics);
  add_text(app, {"--device", "DEV", "where to run: cpu", {"cpu"}}, flags.device);
}

void add_data_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"--image", "CxHxW", "size of images as the network sees them (usual for it)"},
           flags.image);
  add_text(app, {"--augment", "LIST", "random changes of images, in order: " + augmentation_help()},
           flags.augment);
  add_word(app, {"--layout", "L", "of images in arrays: nhwc or nchw (by their sides)"},
           flags.layout, {"nhwc", "nchw"});
  add_real(app, {"--test-share", "X", "of data that come in one part (0.2)"}, flags.test_share);
  add_text(app, {"--label", "COLUMN", "of a table, by name or number (label, class, target, y)"},
           flags.label);
  add_list(app, {"--skip-columns", "A,B,..", "columns of a table that are passed over"},
           flags.skip_columns);
  add_switch(app, {"--strict-data", "", "a damaged image ends the training, with exit code 4"},
             flags.strict_data);
  add_text(app, {"--mean", "A,B,..", "of the pixels from 0 to 1, by channel (the training set's)"},
           flags.mean);
  add_text(app, {"--deviation", "A,B,..", "by which pixels are divided (the training set's)"},
           flags.deviation);
}

void add_onnx_flags(CLI::App& app, TrainFlags& flags) {
  add_text(app, {"FILE", "", "a network as a file of ONNX, in place of --model"}, flags.file);
  add_word(app,
           {"--quantize", "F", "train FILE, which may be a run, as it will compute on bytes: int8"},
           flags.quantize, {"int8"});
  add_text(app,
           {"--loss", "L",
            "what is minimised, with numbers as in \"focal(gamma=3)\": " + choices(loss_names()) +
                ", or output:NAME, which is a loss (softmax_cross_entropy)",
            loss_names()},
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
  add_known_inputs(app, flags.known);
  add_text(app, {"--onnx", "FILE", "write the trained network as a file of ONNX"}, flags.onnx);
}

void add_training_flags(CLI::App& app, TrainFlags& flags) {
  add_whole(
      app, {"--epochs,-e", "N", "passes over the data (3; resnet20: 12; unet-small: 20; texts: 8)"},
      flags.epochs, 1);
  add_whole(app,
            {"--batch,-b", "N",
             "samples in a step (128, fewer for few samples; unet-small: 8; windows of texts: 16)"},
            flags.batch, 1);
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
  add_real(
      app,
      {"--clip", "X", "largest norm of the gradients (mlp, lenet: 2; texts: 1; else 0: no limit)"},
      flags.clip);
  add_real(app, {"--clip-value", "X", "largest gradient of each weight (0: no limit)"},
           flags.clip_value);
  add_real(app, {"--ema-decay", "X", "keep moving averages of the weights, as 0.999, and use them"},
           flags.ema_decay);
  add_text(app,
           {"--loss-scale",
            "S",
            "dynamic (default with f16), off, or a number that stays",
            {"dynamic", "off"}},
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
  add_data_flags(app, flags);
  add_onnx_flags(app, flags);
  add_text_flags(app, flags.text);
  add_training_flags(app, flags);
  add_ending_flags(app, flags);
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
  require(saves || !flags.keep_best, "--keep-best: needs --output or --resume");
  require(!compare || !flags.keep_ranges, "--keep-ranges: cannot be added to --compare");
  require(saves || !flags.keep_ranges, "--keep-ranges: needs --output or --resume");
  require(!flags.quantize || !flags.keep_ranges,
          "--keep-ranges: --quantize has ranges already, which stay");
  require(!compare || !flags.report, "--report: cannot be added to --compare");
  require(saves || !flags.report, "--report: needs --output or --resume");
}

}  // namespace narrowgauge::cli
