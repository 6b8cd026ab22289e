// SPDX-License-Identifier: Apache-2.0
#include "train/training_parts.h"

#include <algorithm>

#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/comparison.h"
#include "ops/pointwise/logic.h"
#include "ops/pointwise/where.h"
#include "ops/shape/reshape.h"
#include "ops/training/clipped_gradient.h"
#include "ops/training/loss_scale.h"
#include "passes/training/differentiate.h"
#include "train/rate.h"
#include "train/training_graph.h"

namespace narrowgauge {

TrainingParts::TrainingParts(Graph graph, DType dtype, const Optimizer& optimizer,
                             std::string_view owner)
    : graph_(std::move(graph)), dtype_(dtype), optimizer_(optimizer), owner_(owner) {}

std::string TrainingParts::control_name(std::string_view name) const {
  return concat(owner_, '/', name);
}

std::string TrainingParts::moment_name(const TrainedParameter& parameter,
                                       std::string_view kind) const {
  return narrowgauge::moment_name(owner_, parameter.name, kind);
}

Value TrainingParts::control(std::string_view name, DType dtype, double initial) {
  State state;
  state.name = control_name(name);
  state.role = Role::control;
  state.type = {dtype, {}};
  state.initial = Initial::constant(initial);
  return graph_.state(std::move(state));
}

Value TrainingParts::moment(const TrainedParameter& parameter, std::string_view kind) {
  State state;
  state.name = moment_name(parameter, kind);
  state.role = Role::moment;
  state.type = parameter.type;
  state.initial = Initial::constant(0);
  return graph_.state(std::move(state));
}

void TrainingParts::set_next_control(std::string_view name, Value next) {
  graph_.set_next(control_name(name), next);
}

void TrainingParts::find_parameters() {
  const std::vector<ParameterSettings> settings = settings_of_parameters(graph_, optimizer_);
  auto next = settings.begin();
  for (const State& state : graph_.states()) {
    if (state.role != Role::parameter) continue;
    const ParameterSettings& each = *next++;
    if (!each.frozen) parameters_.push_back({state.name, state.type, state.current, absent, each});
  }
}

void TrainingParts::add_scale() {
  const LossScale& scale = optimizer_.loss_scale;
  const bool scaled = is_dynamic() || scale.kind == LossScale::Kind::fixed;
  scale_ = control("loss_scale", dtype_, scaled ? scale.initial : 1);
  good_steps_ = control("good_steps", DType::i64, 0);
  applied_steps_ = control("applied_steps", DType::i64, 0);
  skipped_steps_ = control("skipped_steps", DType::i64, 0);
  if (counts_down())
    overflows_left_ = control("overflows_left", DType::i64, static_cast<double>(scale.hysteresis));
}

void TrainingParts::add_own_steps(const StepsTaken& taken) {
  const std::vector<State> states = graph_.states();
  for (const auto& [name, count] : taken) {
    State state;
    state.name = narrowgauge::moment_name(owner_, name, own_steps_name);
    state.role = Role::control;
    state.type = {DType::i64, {}};
    state.initial = Initial::constant(static_cast<double>(count));
    const Value steps = graph_.state(std::move(state));
    const auto trained = std::ranges::find(parameters_, name, &TrainedParameter::name);
    const auto known = std::ranges::find(states, name, &State::name);
    if (trained != parameters_.end())
      trained->steps = steps;
    else if (known != states.end())
      resting_.push_back({name, known->type, known->current, absent, {}, steps});
  }
}

void TrainingParts::find_gradients(Value loss, Value seed) {
  Values wanted;
  for (const TrainedParameter& parameter : parameters_) wanted.push_back(parameter.current);
  const Value outputs[] = {loss}, seeds[] = {seed};
  const Values found = append_gradients(graph_, outputs, seeds, wanted);
  for (std::size_t i = 0; i < found.size(); ++i)
    parameters_[i].gradient = found[i].is_absent() ? zero_gradient(parameters_[i], loss) : found[i];
}

Value TrainingParts::zero_gradient(const TrainedParameter& parameter, Value loss) {
  const Blocked blocked = why_blocked(graph_, loss, parameter.current);
  require<ModelError>(blocked.reaches, "parameter '", parameter.name,
                      "': the loss does not depend on it; frozen, the others train");
  if (blocked.node >= 0) {
    const Node& node = graph_.node(blocked.node);
    throw ModelError(concat("node '", node.full_name(), "': op ", node.op->full_name(),
                            " has no gradient for parameter '", parameter.name,
                            "'; frozen, the others train"));
  }
  const Value zero = graph_.constant(Tensor::scalar(parameter.type.dtype, 0));
  return graph_.add(ExpandTo{parameter.type.shape}, {zero}, {.phase = Phase::backward});
}

NodeOptions TrainingParts::options_of_update(std::string name) {
  return {.name = std::move(name), .origin = "training", .phase = Phase::update};
}

Value TrainingParts::is_finite(Value loss) {
  return add(GradientHealth{.bounds_norm = false}, {scale_, loss}, control_name("loss_health"));
}

void TrainingParts::protect_statistics(Value loss_finite) {
  const std::vector<State> states = graph_.states();
  for (const State& state : states)
    if (state.role == Role::statistic && state.next != state.current)
      graph_.set_next(state.name, add(Where{}, {loss_finite, state.next, state.current},
                                      state.name + ".advance"));
}

void TrainingParts::check_gradients(Value gradient_scale) {
  Values checked{gradient_scale};
  for (const TrainedParameter& parameter : parameters_) checked.push_back(parameter.gradient);
  health_ = add(GradientHealth{}, checked, control_name("gradient_health"));
  norm_ = {health_.node, 1};
}

void TrainingParts::pass_anyway(Value whether) {
  health_ = add(Or{}, {health_, whether}, control_name("gradients_pass"));
}

void TrainingParts::add_outcome(Value loss_finite) {
  LossScaleUpdate op;
  const LossScale& s = optimizer_.loss_scale;
  op.dynamic = is_dynamic();
  op.growth_interval = s.growth_interval;
  op.growth = s.growth;
  op.backoff = s.backoff;
  op.minimum = s.minimum;
  op.maximum = s.maximum;
  op.hysteresis = counts_down() ? s.hysteresis : 1;
  op.counts_loss = s.counts_loss;
  Values inputs{scale_, good_steps_, applied_steps_, skipped_steps_, health_, loss_finite};
  if (counts_down()) inputs.push_back(overflows_left_);
  const int outcome = add(op, std::move(inputs), control_name("outcome")).node;
  set_next_control("loss_scale", {outcome, 0});
  set_next_control("good_steps", {outcome, 1});
  set_next_control("applied_steps", {outcome, 2});
  set_next_control("skipped_steps", {outcome, 3});
  if (counts_down()) set_next_control("overflows_left", {outcome, 6});
  applied_ = {outcome, 4};
  outcome_ = {outcome, 5};
}

void TrainingParts::add_rates(Value gradient_scale) {
  rate_for(1);
  ClipMultiplier clip;
  clip.limit = optimizer_.clip_norm;
  multiplier_ = add(clip, {norm_, gradient_scale}, control_name("multiplier"));
  if (optimizer_.clip_value > 0) clip_values();
}

// What remains is the true gradient.
void TrainingParts::clip_values() {
  for (TrainedParameter& parameter : parameters_)
    parameter.gradient = add(ClippedGradient{optimizer_.clip_value},
                             {parameter.gradient, multiplier_}, moment_name(parameter, "clipped"));
  multiplier_ = graph_.constant(Tensor::scalar(dtype_, 1));
}

// The learning rate times the factor of a group, and times what a plateau or a user makes of it.
Value TrainingParts::rate_for(double factor) {
  Value& rate = rates_[factor];
  if (!rate.is_absent()) return rate;
  Optimizer scaled = optimizer_;
  scaled.learning_rate *= factor;
  LearningRate op = learning_rate_of(scaled);
  op.dtype = dtype_;
  const std::string suffix = factor == 1 ? "" : concat("_x", factor);
  rate = add(op, {applied_steps_}, control_name("learning_rate" + suffix));
  if (!optimizer_.schedule.plateau && owner_ == trainer_owner) return rate;
  if (rate_factor_.is_absent()) rate_factor_ = control("rate_factor", dtype_, 1);
  return rate = add(Mul{}, {rate, rate_factor_}, control_name("lowered_rate" + suffix));
}

void TrainingParts::update_parameters() {
  for (const TrainedParameter& parameter : parameters_) {
    update(parameter);
    if (parameter.steps.is_absent()) continue;
    const std::string name = moment_name(parameter, own_steps_name);
    const Value one = graph_.constant(Tensor::scalar(DType::i64, 1));
    const Value more = add(Add{}, {parameter.steps, one}, name + ".more");
    graph_.set_next(name, add(Where{}, {applied_, more, parameter.steps}, name + ".next"));
  }
}

Value TrainingParts::average_step(DType dtype) {
  const auto number = [&](double value) { return graph_.constant(Tensor::scalar(dtype, value)); };
  const Value none = graph_.constant(Tensor::scalar(DType::i64, 0));
  const std::string name = control_name(concat("average_step_", dtype));
  const Value first = add(Equal{}, {applied_steps_, none}, name + ".first");
  const Value share =
      add(Where{}, {first, number(1), number(1 - optimizer_.ema_decay)}, name + ".share");
  return add(Where{}, {applied_, share, number(0)}, name);
}

void TrainingParts::average(const TrainedParameter& parameter, Value step) {
  const std::string name = moment_name(parameter, average_name);
  const Value before = moment(parameter, average_name);
  const Value next = graph_.find_state(parameter.name)->next;
  const Value way = add(Mul{}, {add(Sub{}, {next, before}, name + ".way"), step}, name + ".step");
  graph_.set_next(name, add(Add{}, {before, way}, name + ".next"));
}

// From zero the first step goes all the way. As in PyTorch the average of a parameter that is not
// updated goes on towards it.
void TrainingParts::average_parameters() {
  if (optimizer_.ema_decay == 0) return;
  std::map<DType, Value> steps;
  for (const auto* const list : {&parameters_, &resting_})
    for (const TrainedParameter& parameter : *list) {
      Value& step = steps[parameter.type.dtype];
      if (step.is_absent()) step = average_step(parameter.type.dtype);
      average(parameter, step);
    }
}

// Connects the ports of the rule by their names.
void TrainingParts::update(const TrainedParameter& parameter) {
  const UpdateRule& rule = parameter.settings.rule;
  const std::vector<std::string_view> moments = rule.moments_of(parameter.type.shape);
  Values inputs;
  for (const Port& port : rule.op().inputs) {
    const bool keeps = std::ranges::find(moments, port.name) != moments.end();
    inputs.push_back(keeps ? moment(parameter, port.name) : given(parameter, port.name));
  }
  const int made = graph_
                       .add(rule.op(), rule.attributes(), std::move(inputs),
                            options_of_update(moment_name(parameter, "update")))
                       .node;
  const auto set_next = [&](std::string_view state, std::string_view value) {
    const std::vector<Port>& outputs = rule.op().outputs;
    const auto port = std::ranges::find(outputs, value, &Port::name);
    require(port != outputs.end(), rule.op().full_name(), ": expected a result '", value,
            "' of an update rule, got none");
    graph_.set_next(state, {made, static_cast<int>(port - outputs.begin())});
  };
  set_next(parameter.name, "next_weight");
  for (const std::string_view each : moments)
    set_next(moment_name(parameter, each), concat("next_", each));
}

// What training has for a port of a rule; absent for a moment that the rule does not keep.
Value TrainingParts::given(const TrainedParameter& parameter, std::string_view port) {
  if (port == "weight") return parameter.current;
  if (port == "gradient") return parameter.gradient;
  if (port == "learning_rate") return rate_for(parameter.settings.rate);
  if (port == "multiplier") return multiplier_;
  if (port == "applied") return applied_;
  if (port != "applied_steps") return absent;
  return parameter.steps.is_absent() ? applied_steps_ : parameter.steps;
}

void TrainingParts::add_outputs() {
  graph_.output("reason", outcome_);
  graph_.output("scale", scale_);
  graph_.output("norm", norm_);
  graph_.output("learning_rate", rate_for(1));
}

}  // namespace narrowgauge
