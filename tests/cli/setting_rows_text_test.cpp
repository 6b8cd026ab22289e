// SPDX-License-Identifier: Apache-2.0
// Each setting of a run, from its flag to the flags that repeat the run.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/task/setting_rows.h"
#include "cli/task/settings.h"
#include "cli/training/train_flags.h"

namespace narrowgauge::cli::setting_rows_text_test {
namespace {

using Words = std::vector<std::string>;

// A value of each setting that is not the usual one of lenet.
const std::map<std::string, SettingValue>& other_values() {
  static const std::map<std::string, SettingValue> values{
      {"image", "1x8x8"},
      {"augment", "flip"},
      {"layout", "nhwc"},
      {"test_share", 0.5},
      {"label", "kind"},
      {"skip_columns", Words{"a", "b"}},
      {"strict_data", true},
      {"mean", std::vector<float>{0.5F}},
      {"deviation", std::vector<float>{0.25F}},
      {"metrics", Words{"f1", "top5"}},
      {"loss", "softmax_cross_entropy(smoothing=0.1)"},
      {"freeze", Words{"conv1.*", "a b"}},
      {"groups", Words{"conv2.*: rate=2"}},
      {"epochs", std::int64_t{7}},
      {"batch", std::int64_t{24}},
      {"accumulation", std::int64_t{2}},
      {"optimizer", "adam"},
      {"learning_rate", 0.125},
      {"schedule", "linear"},
      {"warmup", std::int64_t{9}},
      {"decays_vectors", false},
      {"clip", 0.5},
      {"clip_value", 0.75},
      {"ema_decay", 0.875},
      {"loss_scale", "dynamic"},
      {"seed", std::int64_t{11}},
      {"threads", std::int64_t{2}},
      {"deterministic", true},
      {"watch", "accuracy"},
      {"patience", std::int64_t{3}},
      {"min_delta", 0.25},
      {"keep_best", true},
      {"plateau", 0.5},
      {"max_skips", std::int64_t{5}},
  };
  return values;
}

TrainFlags parsed(const Words& words) {
  TrainFlags flags;
  CLI::App app("train");
  add_train_flags(app, flags);
  Words reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  app.parse(reversed);
  return flags;
}

Words words_of(const SettledFlags& settled) {
  Words words;
  for (const auto& [key, values] : settled)
    for (const std::string& value : values) words.push_back("--" + key + "=" + value);
  return words;
}

// The settings that the flags of a run with these settings give again.
Settings repeated(const Settings& settings) {
  TrainFlags saving;
  saving.output = "runs/again";
  return settle(parsed(words_of(settled_flags(saving, settings))), std::nullopt);
}

// Warm-up and loss scale are said, as a repeated run says what they became.
Settings usual(const Words& more = {}) {
  Words words{"--model", "lenet", "--amp", "off", "--warmup", "3", "--loss-scale", "off"};
  words.insert(words.end(), more.begin(), more.end());
  return settle(parsed(words), std::nullopt);
}

TEST(setting_rows, every_flag_gives_its_setting_and_is_repeated) {
  for (const SettingRow& row : setting_rows()) {
    SCOPED_TRACE(row.key);
    if (row.flag.names.empty()) continue;
    const auto other = other_values().find(row.key);
    ASSERT_NE(other, other_values().end()) << "a row without a value in this test";
    Settings settings = usual();
    ASSERT_FALSE(value_of(row, settings) == other->second) << "is the usual value";
    if (row.key == "watch" || row.key == "min_delta") settings.watch.patience = 4;
    if (row.key == "clip_value") settings.clip = 0;
    set_value(row, settings, other->second);
    if (row.key == "optimizer") settings = usual({"--optimizer", "adam"});
    check_settings(settings);
    const Settings again = repeated(settings);
    EXPECT_TRUE(value_of(row, again) == other->second);
    for (const SettingRow& each : setting_rows())
      EXPECT_TRUE(value_of(each, again) == value_of(each, settings)) << each.key;
  }
}

TEST(setting_rows, keys_and_flags_stand_once) {
  std::map<std::string, int> keys, flags;
  for (const SettingRow& row : setting_rows()) {
    EXPECT_EQ(++keys[row.key], 1) << row.key;
    if (!row.flag.names.empty()) {
      EXPECT_EQ(++flags[row.flag_name()], 1) << row.key;
    }
  }
}

TEST(setting_rows, numbers_beyond_their_limits_are_refused_by_the_name_of_their_flag) {
  for (const SettingRow& row : setting_rows()) {
    Settings settings = usual();
    const SettingValue held = value_of(row, settings);
    if (!std::holds_alternative<std::int64_t>(held) && !std::holds_alternative<double>(held))
      continue;
    const bool whole = std::holds_alternative<std::int64_t>(held);
    const SettingValue below =
        whole ? SettingValue(static_cast<std::int64_t>(row.least) - 2) : SettingValue(-0.5);
    set_value(row, settings, below);
    try {
      check_rows(settings);
      ADD_FAILURE() << row.key << " is taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(row.flag_name()), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace narrowgauge::cli::setting_rows_text_test
