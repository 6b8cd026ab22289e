// SPDX-License-Identifier: Apache-2.0
// The rows of setting_rows.h, in the order of `train --help`.
#include <algorithm>

#include "cli/common/text.h"
#include "cli/flags/described.h"
#include "cli/flags/parameter_groups.h"
#include "cli/progress/metrics.h"
#include "cli/task/setting_rows.h"
#include "cli/task/settings.h"
#include "cli/task/task.h"
#include "narrowgauge/error.h"
#include "narrowgauge/images.h"
#include "narrowgauge/losses.h"
#include "narrowgauge/metrics.h"
#include "narrowgauge/models.h"
#include "ops/training/schedules/schedule.h"
#include "train/optimizers/table.h"

namespace narrowgauge::cli {
namespace {

constexpr double many = 1e9;

const std::string& word_of(const SettingValue& value) { return std::get<std::string>(value); }

void check_image(const SettingValue& value) {
  if (!word_of(value).empty()) parse_image(word_of(value));
}

void check_test_share(const SettingValue& value) {
  const double share = std::get<double>(value);
  require(share > 0 && share < 1, "--test-share: expected a share above 0 and below 1, got ",
          share);
}

void check_decay(const SettingValue& value) {
  const double decay = std::get<double>(value);
  require(decay >= 0 && decay < 1, "--ema-decay: expected a number from 0 to below 1, got ", decay);
}

void check_loss_scale(const SettingValue& value) {
  if (!word_of(value).empty()) parse_loss_scale(word_of(value));
}

void check_groups(const SettingValue& value) {
  for (const std::string& group : std::get<std::vector<std::string>>(value)) parse_group(group);
}

void check_metrics(const SettingValue& value) {
  for (const std::string& metric : std::get<std::vector<std::string>>(value)) better_of(metric);
}

// "; mlp, lenet: 2; lstm: 1": the networks for which something else is usual than for most.
template <class T>
std::string other_habits(T TrainingHabits::*member) {
  std::vector<std::pair<T, std::string>> others;
  for (const std::string& name : model_names()) {
    const T habit = model_facts(name).habits.*member;
    if (habit == TrainingHabits{}.*member) continue;
    const auto known = std::ranges::find(others, habit, &std::pair<T, std::string>::first);
    if (known == others.end())
      others.emplace_back(habit, name);
    else
      known->second += ", " + name;
  }
  std::string text;
  for (const auto& [habit, names] : others)
    text += concat("; ", names, ": ", number_text(static_cast<double>(habit)));
  return text;
}

#define NG_AT(member) [](Settings& s) -> SettingPlace { return &s.member; }

std::vector<SettingRow> rows_of_data() {
  using enum SettingGroup;
  return {
      {.key = "image",
       .group = data,
       .flag = {"--image", "CxHxW", "size of images as the network sees them (usual for it)"},
       .at = NG_AT(samples.image),
       .check = check_image},
      {.key = "augment",
       .group = data,
       .flag = {"--augment", "LIST", "random changes of images, in order: " + augmentation_help()},
       .at = NG_AT(samples.augment),
       .check = [](const SettingValue& value) { check_augmentations(word_of(value)); }},
      {.key = "layout",
       .group = data,
       .flag = {"--layout", "L", "of images in arrays: nhwc or nchw (by their sides)"},
       .at = NG_AT(samples.layout),
       .words = {"nhwc", "nchw"}},
      {.key = "test_share",
       .group = data,
       .flag = {"--test-share", "X", "of data that come in one part (0.2)"},
       .at = NG_AT(samples.test_share),
       .check = check_test_share},
      {.key = "label",
       .group = data,
       .flag = {"--label", "COLUMN", "of a table, by name or number (label, class, target, y)"},
       .at = NG_AT(samples.label)},
      {.key = "skip_columns",
       .group = data,
       .flag = {"--skip-columns", "A,B,..", "columns of a table that are passed over"},
       .at = NG_AT(samples.skip)},
      {.key = "table",
       .group = data,
       .flag = {},
       .at = NG_AT(samples.table),
       .check =
           [](const SettingValue& value) {
             if (!word_of(value).empty()) check_table(word_of(value));
           }},
      {.key = "strict_data",
       .group = data,
       .flag = {"--strict-data", "", "a damaged image ends the training, with exit code 4"},
       .at = NG_AT(samples.strict)},
      {.key = "mean",
       .group = data,
       .flag = {"--mean", "A,B,..", "of the pixels from 0 to 1, by channel (the training set's)"},
       .at = NG_AT(mean)},
      {.key = "deviation",
       .group = data,
       .flag = {"--deviation", "A,B,..", "by which pixels are divided (the training set's)"},
       .at = NG_AT(deviation)},
  };
}

std::vector<SettingRow> rows_of_networks() {
  using enum SettingGroup;
  return {
      {.key = "metrics",
       .group = run,
       .flag = metrics_flag(),
       .at = NG_AT(metrics),
       .check = check_metrics},
      {.key = "loss",
       .group = network,
       .flag = {"--loss", "L",
                "what is minimised, with numbers as in \"focal(gamma=3)\": " +
                    choices(loss_names()) +
                    ", or output:NAME, which is a loss (softmax_cross_entropy)",
                loss_names()},
       .at = NG_AT(loss)},
      {.key = "freeze",
       .group = network,
       .flag = {"--freeze", "PATTERN", "parameters that keep their values, as 'features.*'"},
       .at = NG_AT(freeze)},
      {.key = "groups",
       .group = network,
       .flag = {"--group", "G",
                "settings of parameters, as 'head.*: rate=10, weight_decay=0'; the last that fits"},
       .at = NG_AT(groups),
       .check = check_groups},
  };
}

std::vector<SettingRow> rows_of_steps() {
  using enum SettingGroup;
  return {
      {.key = "epochs",
       .group = training,
       .flag = {"--epochs,-e", "N",
                "passes over the data (3" + other_habits(&TrainingHabits::epochs) + ")"},
       .at = NG_AT(epochs),
       .least = 1,
       .most = many,
       .from_the_first = true},
      {.key = "batch",
       .group = training,
       .flag = {"--batch,-b", "N",
                "samples in a step (128, or fewer" + other_habits(&TrainingHabits::batch) + ")"},
       .at = NG_AT(batch),
       .least = 1,
       .most = many,
       .from_the_first = true},
      {.key = "accumulation",
       .group = training,
       .flag = {"--accumulate", "N", "each batch in N equal parts, in less memory (1)"},
       .at = NG_AT(accumulation),
       .least = 1,
       .most = many},
      {.key = "optimizer",
       .group = training,
       .flag = {"--optimizer,-o", "O", described(optimizers(), "sgd")},
       .at = NG_AT(optimizer),
       .words = optimizer_names(),
       .from_the_first = true},
      {.key = "learning_rate",
       .group = training,
       .flag = {"--lr", "X", "learning rate (sgd: 0.01 to 0.1, by network; adam: 0.001)"},
       .at = NG_AT(learning_rate),
       .from_the_first = true},
      {.key = "schedule",
       .group = training,
       .flag = {"--schedule", "S", "of the learning rate; " + described(schedules(), "cosine")},
       .at = NG_AT(schedule),
       .words = schedule_names(),
       .from_the_first = true},
      {.key = "warmup",
       .group = training,
       .flag = {"--warmup", "N", "steps of growing from 0 (mlp, lenet: 0; else 200 or a tenth)"},
       .at = NG_AT(warmup),
       .most = many,
       .unset = -1,
       .from_the_first = true},
  };
}

std::vector<SettingRow> rows_of_updates() {
  using enum SettingGroup;
  return {
      {.key = "decays_vectors",
       .group = training,
       .flag = {"--decay-matrices", "", "no weight decay on biases and normalization"},
       .at = NG_AT(decays_vectors),
       .turns_off = true},
      {.key = "clip",
       .group = training,
       .flag = {"--clip", "X",
                "largest norm of the gradients (0: no limit" + other_habits(&TrainingHabits::clip) +
                    ")"},
       .at = NG_AT(clip),
       .from_the_first = true},
      {.key = "clip_value",
       .group = training,
       .flag = {"--clip-value", "X", "largest gradient of each weight (0: no limit)"},
       .at = NG_AT(clip_value)},
      {.key = "ema_decay",
       .group = training,
       .flag = {"--ema-decay", "X", "keep moving averages of the weights, as 0.999, and use them"},
       .at = NG_AT(ema_decay),
       .check = check_decay},
      {.key = "loss_scale",
       .group = training,
       .flag = {"--loss-scale",
                "S",
                "dynamic (default with f16), off, or a number that stays",
                {"dynamic", "off"}},
       .at = NG_AT(loss_scale),
       .check = check_loss_scale,
       .from_the_first = true},
      {.key = "seed",
       .group = training,
       .flag = {"--seed", "N", "of weights and order of samples (1)"},
       .at = NG_AT(seed),
       .from_the_first = true},
      {.key = "threads",
       .group = training,
       .flag = {"--threads,-t", "N", "(0: all cores, or OMP_NUM_THREADS)"},
       .at = NG_AT(threads),
       .most = 4096,
       .from_the_first = true},
      {.key = "deterministic",
       .group = training,
       .flag = {"--deterministic", "", "the same bits for any number of threads"},
       .at = NG_AT(deterministic),
       .from_the_first = true},
  };
}

std::vector<SettingRow> rows_of_endings() {
  using enum SettingGroup;
  return {
      {.key = "watch",
       .group = ending,
       .flag = {"--watch", "M",
                "metric of the test set, for --patience, --keep-best, --plateau (loss)"},
       .at = NG_AT(watch.metric),
       .check = [](const SettingValue& value) { better_of(word_of(value)); }},
      {.key = "patience",
       .group = ending,
       .flag = {"--patience", "N", "end after N epochs in a row that were no better (0: never)"},
       .at = NG_AT(watch.patience),
       .most = many},
      {.key = "min_delta",
       .group = ending,
       .flag = {"--min-delta", "X", "by more than which a value must be better for --patience (0)"},
       .at = NG_AT(watch.least_change)},
      {.key = "keep_best",
       .group = ending,
       .flag = {"--keep-best", "", "keep the best checkpoint too, as RUN/best"},
       .at = NG_AT(watch.keeps_best)},
      {.key = "plateau",
       .group = ending,
       .flag = {"--plateau", "X", "learning rate times X after 10 epochs that were no better"},
       .at = NG_AT(watch.plateau),
       .most = 0.999},
      {.key = "max_skips",
       .group = ending,
       .flag = {"--max-skips", "N", "end after N skipped steps in a row, with exit code 5 (100)"},
       .at = NG_AT(watch.most_skips),
       .least = 1,
       .most = many},
  };
}

#undef NG_AT

std::vector<SettingRow> all_rows() {
  std::vector<SettingRow> all;
  for (const auto& rows :
       {rows_of_data(), rows_of_networks(), rows_of_steps(), rows_of_updates(), rows_of_endings()})
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

}  // namespace

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> rows = all_rows();
  return rows;
}

}  // namespace narrowgauge::cli
