// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <algorithm>
#include <cstdlib>

#include "cli/text.h"
#include "narrowgauge/error.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {
namespace {

template <class T, class U>
void take(T& target, const std::optional<U>& flag) {
  if (flag) target = static_cast<T>(*flag);
}

void take_training(Settings& settings, const TrainFlags& flags) {
  take(settings.epochs, flags.epochs);
  take(settings.batch, flags.batch);
  take(settings.learning_rate, flags.learning_rate);
  take(settings.momentum, flags.momentum);
  take(settings.weight_decay, flags.weight_decay);
  take(settings.clip, flags.clip);
  take(settings.schedule, flags.schedule);
  take(settings.warmup, flags.warmup);
  take(settings.seed, flags.seed);
  take(settings.threads, flags.threads);
  take(settings.loss_scale, flags.loss_scale);
  settings.nesterov |= flags.nesterov;
  settings.deterministic |= flags.deterministic;
}

void check(const Settings& settings, const TrainFlags& flags) {
  parse_schedule(settings.schedule);
  if (!settings.loss_scale.empty()) parse_loss_scale(settings.loss_scale);
  const bool sgd = settings.optimizer == "sgd";
  require(sgd || !flags.momentum, "--momentum: ", settings.optimizer, " has none, only sgd does");
  require(sgd || !flags.nesterov, "--nesterov: ", settings.optimizer, " has none, only sgd does");
  require(!settings.nesterov || settings.momentum > 0, "--nesterov: needs --momentum above 0");
  require(settings.momentum < 1, "--momentum: expected a number below 1, got ", settings.momentum);
  require(settings.threads <= 4096, "--threads: expected at most 4096, got ", settings.threads);
  const bool narrow = settings.amp != "off" || !flags.compare.empty() || flags.plan;
  require(narrow || settings.overrides.empty(), "--override: needs --amp f16 or bf16");
}

}  // namespace

void require_model(const std::string& name) {
  const std::vector<std::string> names = model_names();
  require<ModelError>(std::find(names.begin(), names.end(), name) != names.end(), "unknown model ",
                      name, ": expected ", choices(names), suggestion(name, names));
}

void require_device(const std::optional<std::string>& name) {
  require<DeviceError>(!name || *name == "cpu", "unknown device ", name.value_or(""),
                       ": this program was built for cpu alone");
}

std::string settle_amp(const std::optional<std::string>& flag, const std::string& otherwise) {
  Optimizer probe;
  enable_mixed_precision_from_environment(probe);
  unsetenv("NARROWGAUGE_AUTO_MIXED_PRECISION");
  if (flag) return *flag;
  if (probe.mixed_precision) return std::string(name(probe.mixed_precision->narrow));
  return otherwise;
}

Settings usual_settings(const std::string& model, const std::string& optimizer) {
  Settings settings;
  settings.model = model;
  settings.optimizer = optimizer;
  const Optimizer usual = parse_optimizer(optimizer);
  if (optimizer != "sgd") {
    settings.learning_rate = usual.learning_rate;
    settings.momentum = 0;
    settings.weight_decay = usual.weight_decay;
  }
  if (model != "resnet20") return settings;
  settings.epochs = 12;
  if (optimizer == "sgd") {
    settings.learning_rate = 0.1;
    settings.weight_decay = 1e-4;
  }
  return settings;
}

Settings settle(const TrainFlags& flags, const std::optional<Settings>& resumed) {
  require_device(flags.device);
  require(flags.model || resumed, "train: --model is required");
  const std::string model = flags.model.value_or(resumed ? resumed->model : "");
  require_model(model);
  const std::string optimizer = flags.optimizer.value_or(resumed ? resumed->optimizer : "sgd");
  Settings settings = resumed.value_or(usual_settings(model, optimizer));
  if (resumed && optimizer != resumed->optimizer) settings = usual_settings(model, optimizer);
  settings.model = model;
  settings.optimizer = optimizer;
  take(settings.data, flags.data);
  settings.amp = settle_amp(flags.amp, settings.amp);
  if (!flags.overrides.empty()) settings.overrides = flags.overrides;
  take_training(settings, flags);
  check(settings, flags);
  return settings;
}

void set_amp(Optimizer& optimizer, const std::string& amp,
             const std::vector<std::string>& overrides) {
  optimizer.mixed_precision.reset();
  if (amp == "off") return;
  enable_mixed_precision(optimizer, amp == "f16" ? DType::f16 : DType::bf16);
  optimizer.mixed_precision->overrides = overrides;
}

namespace {

// Residual networks want it with rates this high: He et al. 2016, section 4.2.
std::int64_t usual_warmup(const Settings& settings, std::int64_t steps) {
  const bool wanted = settings.model == "resnet20" && settings.optimizer == "sgd";
  return wanted ? std::min<std::int64_t>(200, steps / 10) : 0;
}

}  // namespace

Optimizer make_optimizer(const Settings& settings, std::int64_t steps_per_epoch) {
  Optimizer optimizer = parse_optimizer(settings.optimizer);
  optimizer.learning_rate = settings.learning_rate;
  optimizer.momentum = settings.momentum;
  optimizer.nesterov = settings.nesterov;
  optimizer.weight_decay = settings.weight_decay;
  optimizer.clip_norm = settings.clip;
  optimizer.schedule.kind = parse_schedule(settings.schedule);
  const std::int64_t steps = settings.epochs * steps_per_epoch;
  optimizer.schedule.total_steps = steps;
  optimizer.schedule.warmup_steps =
      settings.warmup >= 0 ? settings.warmup : usual_warmup(settings, steps);
  // Thirds, as is usual for networks on images.
  optimizer.schedule.step_every = std::max<std::int64_t>(1, steps / 3);
  if (!settings.loss_scale.empty()) optimizer.loss_scale = parse_loss_scale(settings.loss_scale);
  set_amp(optimizer, settings.amp, settings.overrides);
  return optimizer;
}

}  // namespace narrowgauge::cli
