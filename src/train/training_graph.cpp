// SPDX-License-Identifier: Apache-2.0
#include "train/training_graph.h"

#include <algorithm>

#include "ops/math/arithmetic.h"
#include "ops/math/where.h"
#include "ops/training/loss_scale.h"
#include "passes/differentiate.h"
#include "train/rate.h"

namespace narrowgauge {

namespace {

struct Parameter {
  std::string name;
  TensorType type;
  Value current, gradient;
};

class TrainingGraphBuilder {
 public:
  TrainingGraphBuilder(const Graph& forward, const Optimizer& optimizer)
      : graph_(forward), optimizer_(optimizer) {}

  Graph build() {
    loss_ = graph_.find_output("loss");
    require(!loss_.is_absent() && is_loss(graph_.type(loss_)), "graph '", graph_.name(),
            "': training needs a scalar output 'loss' of f32 or f64",
            loss_.is_absent() ? "" : concat(", got ", graph_.type(loss_)));
    add_scale();
    find_gradients();
    add_outcome();
    protect_statistics();
    add_rates();
    for (const Parameter& parameter : parameters_) update(parameter);
    add_outputs();
    return std::move(graph_);
  }

 private:
  static bool is_loss(const TensorType& type) {
    return type.shape.empty() && (type.dtype == DType::f32 || type.dtype == DType::f64);
  }

  // The format of the loss, which loss scale, norm and learning rate share.
  DType dtype() const { return graph_.type(loss_).dtype; }

  Value control(std::string_view name, DType dtype, double initial) {
    State state;
    state.name = name;
    state.role = Role::control;
    state.type = {dtype, {}};
    state.initial = Initial::constant(initial);
    return graph_.state(std::move(state));
  }

  Value moment(const Parameter& parameter, std::string_view kind) {
    State state;
    state.name = concat(parameter.name, '.', kind);
    state.role = Role::moment;
    state.type = parameter.type;
    state.initial = Initial::constant(0);
    return graph_.state(std::move(state));
  }

  // Whether overflows are counted before the scale goes down.
  bool counts_down() const { return is_dynamic() && optimizer_.loss_scale.hysteresis > 1; }
  bool is_dynamic() const { return optimizer_.loss_scale.kind == LossScale::Kind::dynamic; }

  void add_scale() {
    const bool scaled = is_dynamic() || optimizer_.loss_scale.kind == LossScale::Kind::fixed;
    scale_ = control(loss_scale_name, dtype(), scaled ? optimizer_.loss_scale.initial : 1);
    good_steps_ = control(good_steps_name, DType::i64, 0);
    applied_steps_ = control(applied_steps_name, DType::i64, 0);
    skipped_steps_ = control(skipped_steps_name, DType::i64, 0);
    if (counts_down())
      overflows_left_ = control(overflows_left_name, DType::i64,
                                static_cast<double>(optimizer_.loss_scale.hysteresis));
  }

  void find_gradients() {
    Values wanted;
    for (const State& state : graph_.states())
      if (state.role == Role::parameter) {
        wanted.push_back(state.current);
        parameters_.push_back({state.name, state.type, state.current, absent});
      }
    require(!wanted.empty(), "graph '", graph_.name(), "': has no parameters to train");
    const Value outputs[] = {loss_}, seeds[] = {scale_};
    const Values found = append_gradients(graph_, outputs, seeds, wanted);
    for (std::size_t i = 0; i < found.size(); ++i) {
      require<ModelError>(!found[i].is_absent(), "parameter '", parameters_[i].name,
                          "': the loss does not depend on it");
      parameters_[i].gradient = found[i];
    }
  }

  static NodeOptions options_of_update(std::string name) {
    return {.name = std::move(name), .origin = "training", .phase = Phase::update};
  }

  template <Op T>
  Value add(T op, Values inputs, std::string name) {
    return graph_.add(std::move(op), std::move(inputs), options_of_update(std::move(name)));
  }

  void add_outcome() {
    Values checked{scale_};
    for (const Parameter& parameter : parameters_) checked.push_back(parameter.gradient);
    const Value health = add(GradientHealth{}, checked, "training/gradient_health");
    norm_ = {health.node, 1};
    // The loss is not clipped, so a finite loss counts as finite whatever the scale makes of it.
    loss_finite_ =
        add(GradientHealth{.bounds_norm = false}, {scale_, loss_}, "training/loss_health");
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
    Values inputs{scale_, good_steps_, applied_steps_, skipped_steps_, health, loss_finite_};
    if (counts_down()) inputs.push_back(overflows_left_);
    const int outcome = add(op, std::move(inputs), "training/outcome").node;
    graph_.set_next(loss_scale_name, {outcome, 0});
    graph_.set_next(good_steps_name, {outcome, 1});
    graph_.set_next(applied_steps_name, {outcome, 2});
    graph_.set_next(skipped_steps_name, {outcome, 3});
    if (counts_down()) graph_.set_next(overflows_left_name, {outcome, 6});
    applied_ = {outcome, 4};
    outcome_ = {outcome, 5};
  }

  // Running statistics advance even if gradients overflow, but not on a batch whose forward pass
  // was not finite: an infinity would stay in them.
  void protect_statistics() {
    const std::vector<State> states = graph_.states();
    for (const State& state : states)
      if (state.role == Role::statistic && state.next != state.current)
        graph_.set_next(state.name, add(Where{}, {loss_finite_, state.next, state.current},
                                        state.name + ".advance"));
  }

  void add_rates() {
    LearningRate rate = learning_rate_of(optimizer_);
    rate.dtype = dtype();
    learning_rate_ = add(rate, {applied_steps_}, "training/learning_rate");
    if (optimizer_.schedule.plateau)
      learning_rate_ = add(Mul{}, {learning_rate_, control(rate_factor_name, dtype(), 1)},
                           "training/lowered_rate");
    ClipMultiplier clip;
    clip.limit = optimizer_.clip_norm;
    multiplier_ = add(clip, {norm_, scale_}, "training/multiplier");
  }

  // Connects the ports of the rule by their names.
  void update(const Parameter& parameter) {
    const UpdateRule& rule = optimizer_.rule;
    const std::vector<std::string_view> moments = rule.moments_of(parameter.type.shape);
    Values inputs;
    for (const Port& port : rule.op().inputs) {
      const bool keeps = std::find(moments.begin(), moments.end(), port.name) != moments.end();
      inputs.push_back(keeps ? moment(parameter, port.name) : given(parameter, port.name));
    }
    const int made = graph_
                         .add(rule.op(), rule.attributes(), std::move(inputs),
                              options_of_update(parameter.name + ".update"))
                         .node;
    const auto set_next = [&](std::string_view state, std::string_view value) {
      const std::vector<Port>& outputs = rule.op().outputs;
      const auto port = std::find_if(outputs.begin(), outputs.end(),
                                     [&](const Port& each) { return each.name == value; });
      require(port != outputs.end(), rule.op().full_name(), ": expected a result '", value,
              "' of an update rule, got none");
      graph_.set_next(state, {made, static_cast<int>(port - outputs.begin())});
    };
    set_next(parameter.name, "next_weight");
    for (const std::string_view each : moments)
      set_next(concat(parameter.name, '.', each), concat("next_", each));
  }

  // What training has for a port of a rule; absent for a moment that the rule does not keep.
  Value given(const Parameter& parameter, std::string_view port) const {
    if (port == "weight") return parameter.current;
    if (port == "gradient") return parameter.gradient;
    if (port == "learning_rate") return learning_rate_;
    if (port == "multiplier") return multiplier_;
    if (port == "applied") return applied_;
    return port == "applied_steps" ? applied_steps_ : absent;
  }

  void add_outputs() {
    graph_.output("reason", outcome_);
    graph_.output("scale", scale_);
    graph_.output("norm", norm_);
    graph_.output("learning_rate", learning_rate_);
  }

  Graph graph_;
  const Optimizer& optimizer_;
  Value loss_, scale_, good_steps_, applied_steps_, skipped_steps_, overflows_left_;
  Value loss_finite_, norm_, applied_, outcome_, learning_rate_, multiplier_;
  std::vector<Parameter> parameters_;
};

}  // namespace

Graph make_training_graph(const Graph& forward, const Optimizer& optimizer) {
  Graph graph = TrainingGraphBuilder(forward, optimizer).build();
  verify(graph, Stage::trained);
  return graph;
}

}  // namespace narrowgauge
