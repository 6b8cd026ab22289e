// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/task.h"
#include "cli/train_flags.h"
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

void add_warmup(Settled& settled, const Settings& settings) {
  constexpr std::int64_t many_steps = 1'000'000;  // of which some warm up, if any do
  if (settings.warmup >= 0)
    settled.add("warmup", settings.warmup);
  else if (make_optimizer(settings, many_steps).schedule.warmup_steps == 0)
    settled.add("warmup", 0);
}

void add_hyperparameters(Settled& settled, const UpdateRule& rule) {
  for (const Hyperparameter& each : rule.hyperparameters()) {
    std::string key(each.name);
    std::replace(key.begin(), key.end(), '_', '-');
    std::visit([&](auto value) { settled.add(key, value); }, each.value);
  }
}

void add_optimizer(Settled& settled, const Settings& settings) {
  settled.add("optimizer", settings.optimizer);
  settled.add("lr", settings.learning_rate);
  add_hyperparameters(settled, settings.rule);
  settled.add("decay-matrices", !settings.decays_vectors);
  settled.add("clip", settings.clip);
  settled.add("clip-value", settings.clip_value);
  settled.add("ema-decay", settings.ema_decay);
  settled.add("schedule", settings.schedule);
  add_warmup(settled, settings);
  if (!settings.loss_scale.empty()) settled.add("loss-scale", settings.loss_scale);
  settled.add("freeze", settings.freeze);
  settled.add("group", settings.groups);
}

void add_watching(Settled& settled, const TrainFlags& flags, const Settings& settings) {
  const WatchSettings& watch = settings.watch;
  const bool saves = flags.output || flags.resume;
  settled.add_list("metrics", settings.metrics);
  if (watch.patience > 0 || watch.keeps_best || watch.plateau > 0)
    settled.add("watch", watch.metric);
  settled.add("patience", watch.patience);
  if (watch.patience > 0) settled.add("min-delta", watch.least_change);
  if (saves) settled.add("keep-best", watch.keeps_best);
  settled.add("plateau", watch.plateau);
  settled.add("max-skips", watch.most_skips);
  if (saves) settled.add("checkpoint-every", std::string("1epoch"));
  if (saves) settled.add("keep", CheckpointOptions{}.keep);
  if (saves || flags.watch.tensorboard) settled.add("log-every", TrainingLogOptions{}.every_steps);
}

void add_network(Settled& settled, const TrainFlags& flags, const Settings& settings) {
  if (settings.onnx.file.empty()) settled.add("model", settings.model);
  settled.add("data", settings.data);
  if (!settings.samples.image.empty()) settled.add("image", settings.samples.image);
  if (!settings.samples.augment.empty()) settled.add("augment", settings.samples.augment);
  if (!settings.samples.layout.empty()) settled.add("layout", settings.samples.layout);
  settled.add("test-share", settings.samples.test_share);
  if (!settings.samples.label.empty()) settled.add("label", settings.samples.label);
  settled.add_list("skip-columns", settings.samples.skip);
  settled.add("strict-data", settings.samples.strict);
  if (!settings.loss.empty()) settled.add("loss", settings.loss);
  if (!settings.onnx.output.empty()) settled.add("loss-on", settings.onnx.output);
  settled.add("mean", settings.mean);
  settled.add("deviation", settings.deviation);
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
  add_precision(settled, flags, settings);
  add_optimizer(settled, settings);
  add_watching(settled, flags, settings);
  settled.add("epochs", settings.epochs);
  settled.add("batch", settings.batch);
  settled.add("accumulate", settings.accumulation);
  settled.add("seed", settings.seed);
  settled.add("threads", settings.threads);
  settled.add("deterministic", settings.deterministic);
  settled.add("recompute", std::string("off"));
  return std::move(settled).take();
}

SettledFlags settled_for_data(const TrainFlags& flags, Settings settings) {
  const bool is_text = settings.onnx.file.empty() && is_language_model(settings.model);
  if (is_text || flags.batch || flags.resume) return settled_flags(flags, settings);
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
