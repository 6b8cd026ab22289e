// SPDX-License-Identifier: Apache-2.0
#include "cli/task/settings.h"

#include <algorithm>

#include "base/text/nearest.h"
#include "cli/common/text.h"
#include "cli/flags/parameter_groups.h"
#include "cli/task/task.h"
#include "narrowgauge/error.h"
#include "narrowgauge/language_models.h"
#include "narrowgauge/model.h"
#include "narrowgauge/precision_presets.h"

namespace narrowgauge::cli {
namespace {

template <class T, class U>
void take(T& target, const std::optional<U>& flag) {
  if (flag) target = static_cast<T>(*flag);
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

void take_training(Settings& settings, const TrainFlags& flags) {
  if (flags.precision.level) settings.loss_scale = loss_scale_of_level(*flags.precision.level);
  if (flags.given.contains("clip_value")) settings.clip = 0;  // which is usual for some networks
  take_given(settings, flags.given);
  take(settings.onnx.output, flags.loss_output);
}

void check_settled(const Settings& settings, const TrainFlags& flags) {
  check_settings(settings);
  if (flags.compare.empty()) check_used(settings.precision, flags.precision);
}

}  // namespace

void check_settings(const Settings& settings) {
  const std::vector<std::string> policies = policy_words();
  require(std::ranges::find(policies, settings.precision.policy) != policies.end(),
          "--policy: expected ", choices(policies), ", got \"", settings.precision.policy, '"');
  check_rows(settings);
  require(settings.batch % settings.accumulation == 0, "--accumulate: a batch of ", settings.batch,
          " cannot be cut into ", settings.accumulation, " equal parts");
  require(settings.clip == 0 || settings.clip_value == 0,
          "--clip-value: limits each gradient, --clip their norm; one of them can be used");
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

// How the network is usually trained; files, which are no built-in networks, as most are.
TrainingHabits habits_of(const std::string& model) {
  const std::vector<std::string> names = model_names();
  const bool known = std::ranges::find(names, model) != names.end();
  return known ? model_facts(model).habits : TrainingHabits{};
}

// Rate and rule of the optimizer as the network is usually trained by it.
void suit_optimizer(Settings& settings, const TrainingHabits& habits) {
  const Optimizer usual = parse_optimizer(settings.optimizer);
  settings.learning_rate = usual.learning_rate;
  settings.rule = usual.rule;
  if (settings.optimizer == "sgd") {
    settings.learning_rate = habits.sgd.learning_rate;
    settings.rule.set("weight_decay", habits.sgd.weight_decay);
  } else if (settings.optimizer == "adamw") {
    const auto& [rate, decay, beta2] = habits.adamw;
    if (rate > 0) settings.learning_rate = rate;
    if (decay > 0) settings.rule.set("weight_decay", decay);
    if (beta2 > 0) settings.rule.set("beta2", beta2);
  }
}

}  // namespace

Settings usual_settings(const std::string& model, const std::string& optimizer) {
  const TrainingHabits habits = habits_of(model);
  Settings settings;
  settings.model = model;
  settings.optimizer = optimizer;
  settings.epochs = habits.epochs;
  settings.batch = habits.batch;
  settings.clip = habits.clip;
  suit_optimizer(settings, habits);
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
  if (flags.given.contains("batch") || flags.resume) return;
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
  const auto batch = given_value<std::int64_t>(flags.given, "batch");
  require(!resumed || !batch || *batch == resumed->batch,
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
  const std::string optimizer =
      given_value<std::string>(flags.given, "optimizer")
          .value_or(resumed ? resumed->optimizer : std::string(habits_of(model).optimizer));
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
  const bool wanted = !grows && habits_of(settings.model).warms_up &&
                      (is_language_model(settings.model) || settings.optimizer == "sgd");
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
