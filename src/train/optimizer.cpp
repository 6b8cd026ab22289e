// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/optimizer.h"

#include <charconv>

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
