// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/optimizer.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/environment.h"

namespace narrowgauge {

Schedule::Kind parse_schedule(std::string_view name) {
  if (name == "constant") return Schedule::Kind::constant;
  if (name == "step") return Schedule::Kind::step;
  if (name == "cosine") return Schedule::Kind::cosine;
  throw UsageError(concat("schedule: unknown '", name, "', expected constant, step or cosine"));
}

LossScale parse_loss_scale(std::string_view text) {
  LossScale scale;
  if (text == "dynamic") {
    scale.kind = LossScale::Kind::dynamic;
    return scale;
  }
  if (text == "off") {
    scale.kind = LossScale::Kind::off;
    return scale;
  }
  scale.kind = LossScale::Kind::fixed;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, scale.initial);
  require(error == std::errc{} && parsed == end && scale.initial >= 1 && scale.initial <= 16777216,
          "loss scale: expected dynamic, off or a number from 1 to 16777216, got '", text, "'");
  return scale;
}

Optimizer sgd(double learning_rate, double momentum, bool nesterov) {
  Optimizer optimizer;
  optimizer.learning_rate = learning_rate;
  optimizer.momentum = momentum;
  optimizer.nesterov = nesterov;
  return optimizer;
}

Optimizer adam(double learning_rate) {
  Optimizer optimizer;
  optimizer.kind = Optimizer::Kind::adam;
  optimizer.learning_rate = learning_rate;
  return optimizer;
}

Optimizer adamw(double learning_rate, double weight_decay) {
  Optimizer optimizer = adam(learning_rate);
  optimizer.kind = Optimizer::Kind::adamw;
  optimizer.weight_decay = weight_decay;
  return optimizer;
}

Optimizer parse_optimizer(std::string_view name) {
  if (name == "sgd") return sgd(0.05);
  if (name == "adam") return adam();
  if (name == "adamw") return adamw();
  throw UsageError(concat("optimizer: unknown '", name, "', expected sgd, adam or adamw"));
}

namespace {

using Float = std::numeric_limits<float>;

// Requires a size that f32, in which updates compute, does not make zero.
void require_size(const char* what, double value) {
  require(value == 0 || (value >= double{Float::min()} && value <= double{Float::max()}),
          "optimizer: expected ", what, " of 0, or from 1.2e-38 to 3.4e38 as f32 holds it, got ",
          value);
}

void require_share(const char* what, double value) {
  require(value >= 0 && value < 1, "optimizer: expected ", what, " from 0 to below 1, got ", value);
}

void check(const Schedule& schedule) {
  const auto [kind, warmup, total, every, factor, minimum] = schedule;
  require(warmup >= 0, "schedule: expected warmup_steps of 0 or more, got ", warmup);
  require(kind != Schedule::Kind::cosine || total > warmup,
          "schedule: expected total_steps above the ", warmup, " of warmup_steps, got ", total);
  require(kind != Schedule::Kind::step || every >= 1,
          "schedule: expected step_every of 1 or more, got ", every);
  require(factor > 0 && factor <= 1, "schedule: expected factor above 0 and at most 1, got ",
          factor);
  require(minimum >= 0 && minimum <= 1, "schedule: expected minimum from 0 to 1, got ", minimum);
}

void check(const LossScale& scale) {
  constexpr double least = 0x1p-126, most = 0x1p126;
  if (scale.kind == LossScale::Kind::off) return;
  require(scale.initial >= least && scale.initial <= most,
          "loss scale: expected initial from 2^-126 to 2^126, got ", scale.initial);
  if (scale.kind == LossScale::Kind::fixed) return;
  require(scale.growth > 1 && std::isfinite(scale.growth),
          "loss scale: expected a finite growth above 1, got ", scale.growth);
  require(scale.backoff > 0 && scale.backoff < 1,
          "loss scale: expected backoff between 0 and 1, got ", scale.backoff);
  require(scale.growth_interval >= 1, "loss scale: expected growth_interval of 1 or more, got ",
          scale.growth_interval);
  require(scale.minimum >= least && scale.minimum <= scale.initial,
          "loss scale: expected minimum from 2^-126 to the ", scale.initial, " of initial, got ",
          scale.minimum);
  require(scale.maximum >= scale.initial, "loss scale: expected maximum of initial's ",
          scale.initial, " or more, got ", scale.maximum);
}

}  // namespace

void check(const Optimizer& optimizer) {
  require_size("learning_rate", optimizer.learning_rate);
  require_size("weight_decay", optimizer.weight_decay);
  require_size("clip_norm", optimizer.clip_norm);
  if (optimizer.kind == Optimizer::Kind::sgd) {
    require_share("momentum", optimizer.momentum);
    require(!optimizer.nesterov || optimizer.momentum > 0,
            "optimizer: expected momentum above 0 with nesterov, got ", optimizer.momentum);
  } else {
    require_share("beta1", optimizer.beta1);
    require_share("beta2", optimizer.beta2);
    require_size("epsilon", optimizer.epsilon);
    require(optimizer.epsilon > 0, "optimizer: expected epsilon above 0, got ", optimizer.epsilon);
  }
  check(optimizer.schedule);
  check(optimizer.loss_scale);
}

void enable_mixed_precision(Optimizer& optimizer, DType narrow) {
  require(narrow == DType::f16 || narrow == DType::bf16,
          "mixed precision: expected f16 or bf16, got ", narrow);
  if (!optimizer.mixed_precision) optimizer.mixed_precision.emplace();
  optimizer.mixed_precision->narrow = narrow;
}

void enable_mixed_precision_from_environment(Optimizer& optimizer) {
  const std::string amp = environment("AMP");
  require(amp.empty() || amp == "off" || amp == "f16" || amp == "bf16" || amp == "auto",
          "NARROWGAUGE_AMP: expected off, f16, bf16 or auto, got '", amp, "'");
  const std::string wish = amp.empty() ? environment("AUTO_MIXED_PRECISION") : amp;
  if (optimizer.mixed_precision || amp == "auto" || wish.empty() || wish == "0" || wish == "off")
    return;
  if (wish == "bf16") return enable_mixed_precision(optimizer, DType::bf16);
  require(wish == "1" || wish == "f16",
          "NARROWGAUGE_AUTO_MIXED_PRECISION: expected 0, 1, f16 or bf16, got '", wish, "'");
  enable_mixed_precision(optimizer, DType::f16);
}

}  // namespace narrowgauge
