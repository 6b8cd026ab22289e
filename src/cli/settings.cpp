// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <algorithm>

#include "base/nearest.h"
#include "cli/common/text.h"
#include "cli/parameter_groups.h"
#include "cli/task.h"
#include "narrowgauge/error.h"
#include "narrowgauge/images.h"
#include "narrowgauge/language_models.h"
#include "narrowgauge/model.h"
#include "narrowgauge/precision_presets.h"

namespace narrowgauge::cli {
namespace {

template <class T, class U>
void take(T& target, const std::optional<U>& flag) {
  if (flag) target = static_cast<T>(*flag);
}

std::vector<float> floats(const char* flag, const std::string& text) {
  const std::vector<double> numbers = parse_numbers(flag, text);
  return {numbers.begin(), numbers.end()};
}

// The network of a file; a run that goes on has its own.
void take_file(Settings& settings, const TrainFlags& flags) {
  settings.onnx.file = *flags.file;
  settings.onnx.shapes = flags.known.shapes;
  settings.onnx.values = flags.known.values;
  settings.onnx.batch_norm = flags.batch_norm;
}

void check_file(const TrainFlags& flags) {
  const bool file = flags.file.has_value();
  require(!file || !flags.model, "train: ", flags.file.value_or(""),
          " is a network, --model is another");
  require(!file || !flags.resume, "train: --resume has a network of its own");
  require(file || !flags.known.are_given(), "--shape and --value: need a file of ONNX");
  require(file || !flags.batch_norm, "--train-batch-norm: needs a file of ONNX");
}

// The loss scale of an apex level, as --loss-scale says it; "" leaves it to the policy.
std::string loss_scale_of_level(const std::string& level) {
  Optimizer optimizer;
  set_apex_level(optimizer, level);
  return optimizer.loss_scale.kind == LossScale::Kind::off ? "off" : "";
}

void take_watch(WatchSettings& watch, const TrainFlags& flags) {
  take(watch.metric, flags.watched);
  take(watch.patience, flags.patience);
  take(watch.least_change, flags.min_delta);
  take(watch.plateau, flags.plateau);
  take(watch.most_skips, flags.max_skips);
  watch.keeps_best |= flags.keep_best;
}

void take_samples(DataSettings& samples, const TrainFlags& flags) {
  take(samples.image, flags.image);
  take(samples.augment, flags.augment);
  take(samples.layout, flags.layout);
  const double share = flags.test_share.value_or(samples.test_share);
  require(!flags.test_share || (share > 0 && share < 1),
          "--test-share: expected a share above 0 and below 1, got ", share);
  samples.test_share = share;
  samples.strict |= flags.strict_data;
  take(samples.label, flags.label);
  if (!flags.skip_columns.empty()) samples.skip = flags.skip_columns;
}

void take_training(Settings& settings, const TrainFlags& flags) {
  take_samples(settings.samples, flags);
  take_watch(settings.watch, flags);
  take(settings.epochs, flags.epochs);
  take(settings.batch, flags.batch);
  take(settings.learning_rate, flags.learning_rate);
  take(settings.accumulation, flags.accumulation);
  take(settings.ema_decay, flags.ema_decay);
  if (flags.clip_value) settings.clip = 0;  // which is usual for some networks
  take(settings.clip, flags.clip);
  take(settings.clip_value, flags.clip_value);
  take(settings.schedule, flags.schedule);
  take(settings.warmup, flags.warmup);
  take(settings.seed, flags.seed);
  take(settings.threads, flags.threads);
  if (flags.precision.level) settings.loss_scale = loss_scale_of_level(*flags.precision.level);
  take(settings.loss_scale, flags.loss_scale);
  take(settings.loss, flags.loss);
  take(settings.onnx.output, flags.loss_output);
  if (!flags.freeze.empty()) settings.freeze = flags.freeze;
  if (!flags.groups.empty()) settings.groups = flags.groups;
  if (!flags.metrics.empty()) settings.metrics = flags.metrics;
  if (flags.mean) settings.mean = floats("--mean", *flags.mean);
  if (flags.deviation) settings.deviation = floats("--deviation", *flags.deviation);
  settings.decays_vectors &= !flags.decay_matrices;
  settings.deterministic |= flags.deterministic;
}

void check_settled(const Settings& settings, const TrainFlags& flags) {
  check_settings(settings);
  if (flags.compare.empty()) check_used(settings.precision, flags.precision);
}

template <class T>
void require_between(const char* flag, T value, T least, T most) {
  require(value >= least && value <= most, flag, ": expected ", least, " to ", most, ", got ",
          value);
}

void require_word(const char* flag, const std::string& word,
                  const std::vector<std::string>& words) {
  require(std::find(words.begin(), words.end(), word) != words.end(), flag, ": expected ",
          choices(words), ", got \"", word, '"');
}

}  // namespace

void check_settings(const Settings& settings) {
  constexpr std::int64_t most = 1'000'000'000;
  constexpr double largest = 1e30;
  require_word("--policy", settings.precision.policy, policy_words());
  require_word("--optimizer", settings.optimizer, optimizer_names());
  require_word("--schedule", settings.schedule, schedule_names());
  if (!settings.loss_scale.empty()) parse_loss_scale(settings.loss_scale);
  require_between<std::int64_t>("--epochs", settings.epochs, 1, most);
  require_between<std::int64_t>("--batch", settings.batch, 1, most);
  require_between<std::int64_t>("--warmup", settings.warmup, -1, most);
  require(settings.seed >= 0, "--seed: expected at least 0, got ", settings.seed);
  require_between("--threads", settings.threads, 0, 4096);
  require_between("--lr", settings.learning_rate, 0.0, largest);
  require_between("--clip", settings.clip, 0.0, largest);
  require_between("--clip-value", settings.clip_value, 0.0, largest);
  require(settings.ema_decay >= 0 && settings.ema_decay < 1,
          "--ema-decay: expected a number from 0 to below 1, got ", settings.ema_decay);
  require(settings.accumulation >= 1 && settings.batch % settings.accumulation == 0,
          "--accumulate: a batch of ", settings.batch, " cannot be cut into ",
          settings.accumulation, " equal parts");
  require(settings.clip == 0 || settings.clip_value == 0,
          "--clip-value: limits each gradient, --clip their norm; one of them can be used");
  for (const std::string& group : settings.groups) parse_group(group);
  for (const std::string& metric : settings.metrics) better_of(metric);
  better_of(settings.watch.metric);
  require_between<std::int64_t>("--patience", settings.watch.patience, 0, most);
  require_between<std::int64_t>("--max-skips", settings.watch.most_skips, 1, most);
  require_between("--min-delta", settings.watch.least_change, 0.0, largest);
  require_between("--plateau", settings.watch.plateau, 0.0, 0.999);
  require_between("--test-share", settings.samples.test_share, 0.0, 1.0);
  if (!settings.samples.image.empty()) parse_image(settings.samples.image);
  check_augmentations(settings.samples.augment);
  const std::string& layout = settings.samples.layout;
  require(layout.empty() || layout == "nhwc" || layout == "nchw",
          "--layout: expected nhwc or nchw, got ", layout);
  if (!settings.samples.table.empty()) check_table(settings.samples.table);
  settings.rule.check("--optimizer");
}

void require_network(const Settings& settings) {
  if (settings.onnx.file.empty()) require_model(settings.model);
}

void require_model(const std::string& name) {
  const std::vector<std::string> names = model_names();
  require<ModelError>(std::find(names.begin(), names.end(), name) != names.end(), "unknown model ",
                      name, ": expected ", choices(names), suggestion(name, names));
}

void require_device(const std::optional<std::string>& name) {
  require<DeviceError>(!name || *name == "cpu", "unknown device ", name.value_or(""),
                       ": this program was built for cpu alone");
}

namespace {

// The usual settings of a network; rate and decay are those of sgd.
struct Habits {
  double learning_rate = 0.05, weight_decay = 0;
  bool warms_up = false;
  // Without normalization and warm-up, the first gradients of large images are too large for the
  // rate.
  double clip() const { return warms_up ? 0 : 2; }
};

// Published values: He et al. 2016 for residual networks (rates this high need a warm-up, section
// 4.2), Huang et al. 2017, and Simonyan, Zisserman 2015.
Habits habits_of(const std::string& model) {
  if (model == "mlp" || model == "lenet" || is_language_model(model)) return {};
  if (model == "vgg19") return {0.01, 5e-4, true};
  if (model.starts_with("resnet") || model.starts_with("densenet")) return {0.1, 1e-4, true};
  return {0.05, 1e-4, true};
}

// Found on tinyshakespeare, by characters.
void suit_text(Settings& settings) {
  settings.epochs = 8;
  settings.batch = 16;
  settings.clip = 1;
  if (settings.optimizer != "adamw") return;
  settings.learning_rate = 0.002;
  settings.rule.set("weight_decay", 0.1);
  settings.rule.set("beta2", 0.99);
}

// The kind of a network's output; files, which are no built-in networks, have classes.
OutputKind output_of(const std::string& model) {
  const std::vector<std::string> names = model_names();
  const bool known = std::ranges::find(names, model) != names.end();
  return known ? model_facts(model).output : OutputKind::classes;
}

std::string usual_optimizer(const std::string& model) {
  if (is_language_model(model)) return "adamw";
  return output_of(model) == OutputKind::classes ? "sgd" : "adam";
}

}  // namespace

Settings usual_settings(const std::string& model, const std::string& optimizer) {
  Settings settings;
  settings.model = model;
  settings.optimizer = optimizer;
  const Optimizer usual = parse_optimizer(optimizer);
  settings.learning_rate = usual.learning_rate;
  settings.rule = usual.rule;
  if (model == "resnet20") settings.epochs = 12;
  const Habits habits = habits_of(model);
  settings.clip = habits.clip();
  if (is_language_model(model)) suit_text(settings);
  if (output_of(model) == OutputKind::pixels) settings.epochs = 20, settings.batch = 8;
  if (optimizer == "sgd") {
    settings.learning_rate = habits.learning_rate;
    settings.rule.set("weight_decay", habits.weight_decay);
  }
  return settings;
}

std::int64_t fitting_batch(std::int64_t usual, std::int64_t samples) {
  constexpr std::int64_t least = 8, steps = 50, least_steps = 8;
  const std::int64_t few = std::max<std::int64_t>(1, samples / least_steps);
  if (usual != usual_training_batch) return usual <= samples ? usual : few;
  std::int64_t batch = usual;
  while (batch > least && samples / batch < steps) batch /= 2;
  return std::min(batch, few);
}

void fit_batch(Settings& settings, std::int64_t samples, const TrainFlags& flags) {
  if (flags.batch || flags.resume) return;
  const std::int64_t parts = settings.accumulation;
  const std::int64_t batch = fitting_batch(settings.batch, samples);
  settings.batch = std::max<std::int64_t>(1, batch / parts) * parts;
}

namespace {

void take_optimizer(Settings& settings, const Settings& usual) {
  settings.learning_rate = usual.learning_rate;
  settings.rule = usual.rule;
}

// A resumed run keeps its batch: its place in data and schedule is counted in batches.
void check_resumed(const TrainFlags& flags, const std::optional<Settings>& resumed) {
  require(!resumed || !flags.batch || *flags.batch == resumed->batch,
          "--batch: a run that goes on keeps its batch of ", resumed ? resumed->batch : 0,
          "; --weights starts anew from its weights");
}

void require_trainable(const std::string& model) {
  require_model(model);
  require(model_facts(model).input == InputKind::images || is_language_model(model),
          "train: ", model,
          " takes tokens, and the data sets here hold images; it is trained from C++, with ",
          "a DataSource of texts");
}

// A language model goes on with the tokens and the size that it has.
void take_text(Settings& settings, const TrainFlags& flags, bool goes_on) {
  const std::optional<std::string> given = flags.text.first_given();
  require(!given || is_language_model(settings.model), given.value_or(""),
          ": needs a language model, tiny-transformer or lstm");
  require(!given || !goes_on, given.value_or(""),
          ": a run that goes on keeps its tokens and its size");
  if (!goes_on) settings.text = text_settings(flags.text);
}

}  // namespace

Settings settle(const TrainFlags& flags, const std::optional<Settings>& resumed) {
  require_device(flags.device);
  check_file(flags);
  require(flags.file || flags.model || resumed, "train: --model, or a file of ONNX, is required");
  check_resumed(flags, resumed);
  const std::string model = flags.file ? *flags.file : flags.model ? *flags.model : resumed->model;
  const bool built_in = !flags.file && (!resumed || flags.model || resumed->onnx.file.empty());
  if (built_in) require_trainable(model);
  const std::string optimizer = flags.optimizer.value_or(resumed    ? resumed->optimizer
                                                         : built_in ? usual_optimizer(model)
                                                                    : "sgd");
  const Settings usual = usual_settings(model, optimizer);
  Settings settings = resumed.value_or(usual);
  if (resumed && optimizer != resumed->optimizer) take_optimizer(settings, usual);
  settings.model = model;
  settings.optimizer = optimizer;
  if (flags.file) take_file(settings, flags);
  if (flags.model) settings.onnx = {};
  take_text(settings, flags, resumed && resumed->model == model);
  take(settings.data, flags.data);
  settings.precision =
      settle_precision(flags.precision, resumed ? std::optional(resumed->precision) : std::nullopt);
  take_training(settings, flags);
  take_hyperparameters(settings.rule, optimizer, flags.hyperparameters);
  check_settled(settings, flags);
  return settings;
}

namespace {

std::int64_t usual_warmup(const Settings& settings, std::int64_t steps) {
  const bool grows = settings.schedule == "one_cycle";  // which is a warm-up by itself
  const bool wanted =
      !grows && (is_language_model(settings.model) ||
                 (habits_of(settings.model).warms_up && settings.optimizer == "sgd"));
  return wanted ? std::min<std::int64_t>(200, steps / 10) : 0;
}

}  // namespace

Optimizer make_optimizer(const Settings& settings, std::int64_t steps_per_epoch) {
  Optimizer optimizer = parse_optimizer(settings.optimizer);
  optimizer.learning_rate = settings.learning_rate;
  optimizer.rule = settings.rule;
  optimizer.clip_norm = settings.clip;
  optimizer.clip_value = settings.clip_value;
  optimizer.ema_decay = settings.ema_decay;
  optimizer.schedule.name = settings.schedule;
  if (settings.watch.plateau > 0) {
    const bool more = better_of(settings.watch.metric) == Better::higher;
    optimizer.schedule.plateau = {
        .mode = more ? PlateauSettings::Mode::max : PlateauSettings::Mode::min,
        .factor = settings.watch.plateau};
  }
  const std::int64_t steps = settings.epochs * steps_per_epoch;
  optimizer.schedule.total_steps = steps;
  optimizer.schedule.warmup_steps =
      settings.warmup >= 0 ? settings.warmup : usual_warmup(settings, steps);
  // The rate steps down after each third, as is usual for networks on images.
  optimizer.schedule.step_every = std::max<std::int64_t>(1, steps / 3);
  optimizer.loss_scale = settings.loss_scale.empty() ? usual_loss_scale(settings.precision.policy)
                                                     : parse_loss_scale(settings.loss_scale);
  for (const std::string& group : settings.groups) optimizer.groups.push_back(parse_group(group));
  for (const std::string& pattern : settings.freeze)
    optimizer.groups.push_back({.pattern = pattern, .frozen = true});
  optimizer.decays_vectors = settings.decays_vectors;
  optimizer.precision = settings.precision;
  return optimizer;
}

}  // namespace narrowgauge::cli
