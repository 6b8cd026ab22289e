// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/task/task.h"
#include "cli/training/train_flags.h"
#include "narrowgauge/checkpoint.h"
#include "narrowgauge/language_models.h"
#include "narrowgauge/model.h"
#include "narrowgauge/precision_presets.h"
#include "narrowgauge/training_log.h"

namespace narrowgauge::cli {
namespace {

std::string on_off(bool value) { return value ? "on" : "off"; }

class Settled {
 public:
  void add(const std::string& key, const std::string& word) { flags_[key] = {word}; }
  void add(const std::string& key, bool value) { add(key, std::string(value ? "true" : "false")); }
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void add(const std::string& key, T number) {
    add(key, fmt::format("{}", number));  // the shortest text that is this number
  }
  void add(const std::string& key, const std::vector<std::string>& words) {
    if (!words.empty()) flags_[key] = words;
  }
  // As one word, which the flag divides at the commas.
  void add_list(const std::string& key, const std::vector<std::string>& words) {
    if (!words.empty()) add(key, fmt::format("{}", fmt::join(words, ",")));
  }
  void add(const std::string& key, const std::vector<float>& numbers) {
    if (!numbers.empty()) add(key, fmt::format("{}", fmt::join(numbers, ",")));
  }
  SettledFlags take() && { return std::move(flags_); }

 private:
  SettledFlags flags_;
};

// Where the policy leaves the scale of the loss to the format, which is known here.
void add_loss_scale(Settled& settled, const Settings& settings) {
  const RunPrecision& precision = settings.precision;
  const bool by_format = usual_loss_scale(precision.policy).kind == LossScale::Kind::automatic;
  if (!by_format || precision.automatic) return;
  settled.add("loss-scale", std::string(precision.narrow == DType::f16 ? "dynamic" : "off"));
}

// A plan, a level and a comparison have formats of their own; a run that goes on has them in its
// folder, and would compile anew if it were told.
void add_precision(Settled& settled, const TrainFlags& flags, const Settings& settings) {
  const PrecisionFlags& given = flags.precision;
  const RunPrecision& precision = settings.precision;
  if (given.plan || given.level || flags.resume || !flags.compare.empty()) return;
  if (settings.loss_scale.empty()) add_loss_scale(settled, settings);
  settled.add("amp", std::string(name(precision.amp())));
  settled.add("math", precision.in_f64 ? "f64" : std::string(name(precision.f32_math)));
  if (!precision.is_mixed() && !precision.automatic) return;
  settled.add("policy", precision.policy);
  settled.add("master-weights", on_off(precision.master_weights));
  if (!precision.master_weights)
    settled.add("weight-rounding", std::string(name(precision.rounding)));
}

// As the flag of a row takes it; texts and lists that say nothing are left out.
void add_row(Settled& settled, const SettingRow& row, const Settings& settings) {
  const std::string key = row.flag_name().substr(2);
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (!value.empty()) settled.add(key, value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          const bool one_word = row.flag.value.find(',') != std::string::npos;
          one_word ? settled.add_list(key, value) : settled.add(key, value);
        } else if constexpr (std::is_same_v<T, bool>) {
          settled.add(key, value != row.turns_off);
        } else {
          settled.add(key, value);
        }
      },
      value_of(row, settings));
}

void add_rows(Settled& settled, const Settings& settings, bool saves) {
  const WatchSettings& watch = settings.watch;
  const bool judges = watch.patience > 0 || watch.keeps_best || watch.plateau > 0;
  for (const SettingRow& row : setting_rows()) {
    const bool idle =
        (row.key == "watch" && !judges) || (row.key == "min_delta" && watch.patience == 0) ||
        (row.key == "keep_best" && !saves) || (row.key == "warmup" && settings.warmup < 0);
    if (!row.flag.names.empty() && !idle) add_row(settled, row, settings);
  }
}

void add_warmup(Settled& settled, const Settings& settings) {
  constexpr std::int64_t many_steps = 1'000'000;  // of which some warm up, if any do
  if (settings.warmup < 0 && make_optimizer(settings, many_steps).schedule.warmup_steps == 0)
    settled.add("warmup", 0);
}

void add_hyperparameters(Settled& settled, const UpdateRule& rule) {
  for (const Hyperparameter& each : rule.hyperparameters()) {
    std::string key(each.name);
    std::replace(key.begin(), key.end(), '_', '-');
    std::visit([&](auto value) { settled.add(key, value); }, each.value);
  }
}

void add_saving(Settled& settled, const TrainFlags& flags, bool saves) {
  if (saves) settled.add("checkpoint-every", std::string("1epoch"));
  if (saves) settled.add("keep", CheckpointOptions{}.keep);
  if (saves || flags.watch.tensorboard) settled.add("log-every", TrainingLogOptions{}.every_steps);
}

void add_network(Settled& settled, const TrainFlags& flags, const Settings& settings) {
  if (settings.onnx.file.empty()) settled.add("model", settings.model);
  settled.add("data", settings.data);
  if (!settings.onnx.output.empty()) settled.add("loss-on", settings.onnx.output);
  if (flags.weights) settled.add("weights-match", std::string("exact"));
  settled.add("device", std::string("cpu"));
}

// Sizes that are the network's own are left to it.
void add_text_settings(Settled& settled, const TextSettings& text) {
  const TextSettings usual;
  settled.add("tokens", text.tokens);
  if (text.most > 0) settled.add("vocabulary", text.most);
  if (!text.vocabulary.empty()) settled.add("vocabulary", text.vocabulary);
  if (!text.merges.empty()) settled.add("merges", text.merges);
  if (text.least_count != usual.least_count) settled.add("least-count", text.least_count);
  if (text.cased) settled.add("cased", true);
  settled.add("context", text.context);
  if (text.size.layers > 0) settled.add("layers", text.size.layers);
  if (text.size.width > 0) settled.add("width", text.size.width);
  if (text.size.heads > 0) settled.add("heads", text.size.heads);
  if (text.size.dropout >= 0) settled.add("dropout", text.size.dropout);
}

}  // namespace

SettledFlags settled_flags(const TrainFlags& flags, const Settings& settings) {
  Settled settled;
  add_network(settled, flags, settings);
  const bool is_text = settings.onnx.file.empty() && is_language_model(settings.model);
  if (is_text && !flags.resume) add_text_settings(settled, settings.text);
  const bool saves = flags.output || flags.resume;
  add_rows(settled, settings, saves);
  add_precision(settled, flags, settings);
  add_warmup(settled, settings);
  add_hyperparameters(settled, settings.rule);
  add_saving(settled, flags, saves);
  settled.add("recompute", std::string("off"));
  return std::move(settled).take();
}

SettledFlags settled_for_data(const TrainFlags& flags, Settings settings) {
  const bool is_text = settings.onnx.file.empty() && is_language_model(settings.model);
  if (is_text || flags.given.contains("batch") || flags.resume)
    return settled_flags(flags, settings);
  try {
    fit_batch(settings, count_training_samples(settings), flags);
    return settled_flags(flags, settings);
  } catch (const DataError&) {
    SettledFlags settled = settled_flags(flags, settings);
    settled.erase("batch");
    return settled;
  }
}

}  // namespace narrowgauge::cli
