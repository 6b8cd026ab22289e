// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/optimizer.h"

#include <charconv>
#include <cmath>

#include "ops/training/schedules/schedule.h"
#include "ops/training/update_op.h"
#include "precision/amp.h"
#include "precision/colouring/policy.h"
#include "tensor/dtype_sets.h"
#include "train/plateau.h"
#include "train/rate.h"

namespace narrowgauge {

std::vector<std::string> schedule_names() { return names_of(schedules()); }

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

namespace {

void check_rate(const Optimizer& optimizer) {
  const Schedule& schedule = optimizer.schedule;
  require(schedule.factor > 0 && schedule.factor <= 1,
          "schedule: expected factor above 0 and at most 1, got ", schedule.factor);
  require(schedule.minimum >= 0 && schedule.minimum <= 1,
          "schedule: expected minimum from 0 to 1, got ", schedule.minimum);
  learning_rate_of(optimizer).check("schedule");
  if (schedule.plateau) check(*schedule.plateau);
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
  require(scale.hysteresis >= 1, "loss scale: expected hysteresis of 1 or more, got ",
          scale.hysteresis);
  require(scale.minimum >= least && scale.minimum <= scale.initial,
          "loss scale: expected minimum from 2^-126 to the ", scale.initial, " of initial, got ",
          scale.minimum);
  require(scale.maximum >= scale.initial, "loss scale: expected maximum of initial's ",
          scale.initial, " or more, got ", scale.maximum);
}

void check(const ParameterGroup& group, const UpdateRule& rule) {
  const std::string who = concat("optimizer: group '", group.pattern, '\'');
  require(!group.pattern.empty(), "optimizer: a group of parameters without a pattern");
  require_size(who, "rate", group.rate);
  if (!group.weight_decay) return;
  UpdateRule changed = rule;
  changed.set("weight_decay", *group.weight_decay);
  changed.check(who);
}

}  // namespace

LearningRate learning_rate_of(const Optimizer& optimizer) {
  const Schedule& schedule = optimizer.schedule;
  LearningRate op;
  op.schedule = schedule.name;
  op.base = optimizer.learning_rate;
  op.warmup_steps = schedule.warmup_steps;
  op.total_steps = schedule.total_steps;
  op.step_every = schedule.step_every;
  op.step_factor = schedule.factor;
  op.minimum = schedule.minimum * optimizer.learning_rate;
  op.power = schedule.power;
  op.rising_share = schedule.rising_share;
  op.start = schedule.start;
  op.cycle_growth = schedule.cycle_growth;
  return op;
}

void check(const Optimizer& optimizer) {
  constexpr std::string_view who = "optimizer";
  require_size(who, "learning_rate", optimizer.learning_rate);
  require_size(who, "clip_norm", optimizer.clip_norm);
  require_size(who, "clip_value", optimizer.clip_value);
  require(optimizer.clip_norm == 0 || optimizer.clip_value == 0,
          "optimizer: expected clip_norm or clip_value, got both");
  check(optimizer.precision);
  require(optimizer.ema_decay >= 0 && optimizer.ema_decay < 1,
          "optimizer: expected an ema_decay from 0 to below 1, got ", optimizer.ema_decay);
  optimizer.rule.check(who);
  check_rate(optimizer);
  check(optimizer.loss_scale);
  for (const ParameterGroup& group : optimizer.groups) check(group, optimizer.rule);
}

void enable_mixed_precision(Optimizer& optimizer, DType narrow) {
  require(is_narrow(narrow), "mixed precision: expected f16 or bf16, got ", narrow);
  optimizer.precision.narrow = narrow;
}

void enable_mixed_precision_from_environment(Optimizer& optimizer) {
  if (optimizer.precision.is_mixed() || optimizer.precision.in_f64)
    amp_variable();  // refuses a word that is none
  else
    optimizer.precision.narrow = amp_of_environment().format;
}

}  // namespace narrowgauge
