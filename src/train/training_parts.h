// SPDX-License-Identifier: Apache-2.0
// The parts of which training graphs are made: gradients, their check, the update of parameters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "train/parameter_settings.h"
#include "train/training_graph.h"

namespace narrowgauge {

struct TrainedParameter {
  std::string name;
  TensorType type;
  Value current, gradient;
  ParameterSettings settings;
  Value steps{};  // in which it was updated so far; absent: in all that were applied
};

// Adds parts to a graph; each needs those above it.
class TrainingParts {
 public:
  // The states of counters, scale and moments are called after `owner`. Loss scale, norm and
  // learning rate have the format `dtype`, that of the loss.
  TrainingParts(Graph graph, DType dtype, const Optimizer& optimizer, std::string_view owner);

  Graph& graph() { return graph_; }
  DType dtype() const { return dtype_; }
  const Optimizer& optimizer() const { return optimizer_; }
  std::vector<TrainedParameter>& parameters() { return parameters_; }

  // A state of one number, "training/loss_scale".
  Value control(std::string_view name, DType dtype, double initial);
  // A state beside a parameter, "conv.weight.velocity".
  Value moment(const TrainedParameter& parameter, std::string_view kind);
  std::string control_name(std::string_view name) const;
  std::string moment_name(const TrainedParameter& parameter, std::string_view kind) const;
  void set_next_control(std::string_view name, Value next);

  void find_parameters();                       // those that are not frozen
  void add_scale();                             // loss scale, and the counters of steps
  void add_own_steps(const StepsTaken& taken);  // counters of single parameters
  Value scale() const { return scale_; }
  // Finds the gradients of seed * loss; 0 for a parameter behind a step such as Floor, as in
  // PyTorch. Throws ModelError for one that has none, naming what blocks it.
  void find_gradients(Value loss, Value seed);
  Value is_finite(Value loss);  // bool, whatever the scale makes of the loss
  // Running statistics advance even if gradients overflow, but not on a batch whose forward pass
  // was not finite: an infinity would stay in them.
  void protect_statistics(Value loss_finite);
  void check_gradients(Value gradient_scale);  // which are so many times the true ones
  void pass_anyway(Value whether);             // bool: gradients count as finite whatever they are
  void add_outcome(Value loss_finite);         // whether the step is applied
  void add_rates(Value gradient_scale);        // learning rate, clipping
  void update_parameters();
  void average_parameters();  // where the optimizer asks for it
  void add_outputs();         // reason, scale, norm and learning_rate

  template <Op T>
  Value add(T op, Values inputs, std::string name) {
    return graph_.add(std::move(op), std::move(inputs), options_of_update(std::move(name)));
  }

 private:
  static NodeOptions options_of_update(std::string name);
  Value zero_gradient(const TrainedParameter& parameter, Value loss);
  // Whether overflows are counted before the scale goes down.
  bool counts_down() const { return is_dynamic() && optimizer_.loss_scale.hysteresis > 1; }
  bool is_dynamic() const { return optimizer_.loss_scale.kind == LossScale::Kind::dynamic; }
  void average(const TrainedParameter& parameter, Value step);
  void clip_values();
  Value rate_for(double factor);
  void update(const TrainedParameter& parameter);
  Value average_step(DType dtype);  // the share of the way to the parameter that an average moves
  Value given(const TrainedParameter& parameter, std::string_view port);

  Graph graph_;
  DType dtype_;
  const Optimizer& optimizer_;
  std::string owner_;
  std::vector<TrainedParameter> parameters_;
  std::vector<TrainedParameter> resting_;  // not updated, but among those whose steps are counted
  Value scale_, good_steps_, applied_steps_, skipped_steps_, overflows_left_;
  Value rate_factor_;  // of a plateau, or a step whose rate may be set
  Value health_, norm_, applied_, outcome_, multiplier_;
  std::map<double, Value> rates_;  // by the factor of the learning rate
};

}  // namespace narrowgauge
