// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/check_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "api/model/model_implementation.h"
#include "base/enumerate.h"
#include "base/random.h"
#include "narrowgauge/error.h"
#include "ops/composition/interpret.h"
#include "passes/core/in_f64.h"
#include "passes/shapes/bind_shapes.h"
#include "passes/training/differentiate.h"
#include "runtime/state_store.h"

namespace narrowgauge {

namespace {

// Where the function begins: its inputs in their order, and its states by name.
struct Point {
  std::vector<Tensor> inputs;
  std::map<std::string, Tensor> states;
};

// A network as a function of its inputs and parameters: the weighted sum of its outputs.
class CheckedFunction {
 public:
  CheckedFunction(Graph graph, DType dtype, std::uint64_t seed)
      : graph_(std::move(graph)), dtype_(dtype), seed_(seed) {
    const std::vector<State> states = graph_.states();
    for (const State& state : states) graph_.set_next(state.name, state.current);
    for (const GraphOutput& output : graph_.outputs()) {
      const TensorType type = graph_.type(output.value);
      if (!is_floating(type.dtype)) continue;
      outputs_.push_back(output.value);
      weights_.push_back(weight(output.name, type));
    }
    for (const Value input : graph_.inputs())
      if (graph_.type(input).dtype == dtype) variables_.push_back(input);
    for (const State& state : states)
      if (state.role == Role::parameter && state.type.dtype == dtype)
        variables_.push_back(state.current);
  }

  const Values& variables() const { return variables_; }
  std::string name(Value variable) const { return graph_.value_name(variable); }
  Tensor& of(Point& point, Value variable) const {
    for (const auto& [i, input] : enumerate(graph_.inputs()))
      if (input == variable) return point.inputs[static_cast<std::size_t>(i)];
    return point.states.at(name(variable));
  }

  // The sum, and the sum of its absolute terms, by which rounding is judged.
  std::pair<double, double> value_at(const Point& point) const {
    std::map<std::string, Tensor> states = point.states;
    const std::vector<Tensor> made =
        interpret(graph_, point.inputs, {.context = {seed_, 0}, .states = &states});
    double sum = 0, absolute = 0;
    std::size_t next = 0;
    for (const auto& [o, output] : enumerate(graph_.outputs())) {
      if (!is_floating(graph_.type(output.value).dtype)) continue;
      const Tensor& weights = weights_[next++];
      const Tensor& values = made[static_cast<std::size_t>(o)];
      for (std::int64_t i = 0; i < values.size(); ++i) {
        sum += weights.at(i) * values.at(i);
        absolute += std::abs(weights.at(i) * values.at(i));
      }
    }
    return {sum, absolute};
  }

  // The gradients by each variable, in their order; zeros where the function does not depend on it.
  std::vector<Tensor> gradients_at(const Point& point) const {
    Graph graph = graph_;
    Values seeds;
    for (const Tensor& weights : weights_) seeds.push_back(graph.constant(weights));
    const Values found = append_gradients(graph, outputs_, seeds, variables_);
    for (const auto& [v, gradient] : enumerate(found))
      if (!gradient.is_absent()) graph.output(concat("checked gradient ", v), gradient);
    std::map<std::string, Tensor> states = point.states;
    std::vector<Tensor> made =
        interpret(graph, point.inputs, {.context = {seed_, 0}, .states = &states});
    std::vector<Tensor> gradients;
    std::size_t next = graph_.outputs().size();
    for (std::size_t v = 0; v < found.size(); ++v)
      gradients.push_back(found[v].is_absent()
                              ? Tensor(dtype_, known_dims(graph_.type(variables_[v]).shape))
                              : made[next++]);
    return gradients;
  }

 private:
  Tensor weight(const std::string& output, const TensorType& type) const {
    Tensor made(type.dtype, known_dims(type.shape));
    const RandomStream random(seed_, concat("weights of ", output));
    for (std::int64_t i = 0; i < made.size(); ++i)
      made.set(i, random.normal(static_cast<std::uint64_t>(i)));
    return made;
  }

  Graph graph_;
  DType dtype_;
  std::uint64_t seed_;
  Values outputs_, variables_;
  std::vector<Tensor> weights_;
};

// Differences along one element of one variable, with a step and with half of it.
class Differences {
 public:
  Differences(const CheckedFunction& function, Point& point, Tensor& variable, std::int64_t element)
      : function_(function), point_(point), variable_(variable), element_(element) {
    const bool wide = variable.dtype() == DType::f64;
    epsilon_ =
        wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    step_ = (wide ? 0x1p-12 : 0x1p-6) * std::max(1.0, std::abs(variable.at(element)));
    std::tie(middle_, absolute_) = function.value_at(point);
    whole_ = with_step(step_);
    half_ = with_step(step_ / 2);
  }

  // The derivative without the error of the square of the step (Richardson 1911).
  double derivative() const { return (4 * half_.both - whole_.both) / 3; }
  double by_half_step() const { return half_.both; }
  // What rounding may make of it.
  double noise() const { return 16 * epsilon_ * absolute_ / step_; }
  // Whether the function has a kink there: the sides of a smooth one come nearer to each other with
  // the step.
  bool is_kink(double allowed) const {
    const double now = std::abs(half_.right - half_.left);
    return now > allowed && now > 0.75 * std::abs(whole_.right - whole_.left);
  }

 private:
  struct Sides {
    double left = 0, right = 0, both = 0;
  };

  Sides with_step(double step) {
    const double before = variable_.at(element_);
    variable_.set(element_, before + step);
    const double above = variable_.at(element_) - before;
    const double upper = function_.value_at(point_).first;
    variable_.set(element_, before - step);
    const double below = before - variable_.at(element_);
    const double lower = function_.value_at(point_).first;
    variable_.set(element_, before);
    return {(middle_ - lower) / below, (upper - middle_) / above,
            (upper - lower) / (above + below)};
  }

  const CheckedFunction& function_;
  Point& point_;
  Tensor& variable_;
  std::int64_t element_;
  double epsilon_ = 0, step_ = 0, middle_ = 0, absolute_ = 0;
  Sides whole_, half_;
};

Dims place_of(std::int64_t element, const Dims& dims) {
  Dims place(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    place[axis] = element % dims[axis];
    element /= dims[axis];
  }
  return place;
}

class GradientChecker {
 public:
  GradientChecker(CheckedFunction function, Point point, DType dtype, const GradientCheck& options)
      : function_(std::move(function)), point_(std::move(point)), options_(options) {
    report_.computed_in = dtype;
    tolerance_ = options.tolerance;
    if (tolerance_ == 0) tolerance_ = dtype == DType::f64 ? 1e-6 : 1e-2;
  }

  GradientReport run() {
    const std::vector<Tensor> gradients = function_.gradients_at(point_);
    for (const auto& [v, variable] : enumerate(function_.variables()))
      compare(variable, gradients[static_cast<std::size_t>(v)]);
    return std::move(report_);
  }

 private:
  void compare(Value variable, const Tensor& gradient) {
    Tensor& values = function_.of(point_, variable);
    const std::int64_t count = std::min(values.size(), options_.most_elements);
    std::vector<std::pair<std::int64_t, Differences>> tried;
    double scale = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t element = i * values.size() / count;
      tried.emplace_back(element, Differences(function_, point_, values, element));
      scale = std::max(scale, std::abs(tried.back().second.derivative()));
    }
    for (const auto& [element, differences] : tried)
      judge({function_.name(variable), place_of(element, values.dims()), gradient.at(element),
             differences.derivative()},
            differences, scale);
  }

  void judge(WrongDerivative derivative, const Differences& differences, double scale) {
    const double allowed = tolerance_ * scale + differences.noise();
    const double apart = std::min(std::abs(derivative.analytic - derivative.numeric),
                                  std::abs(derivative.analytic - differences.by_half_step()));
    const bool agrees = apart <= allowed;
    if (!agrees && differences.is_kink(allowed)) {
      ++report_.kinks;
      return;
    }
    ++report_.checked;
    if (scale > 0) report_.worst = std::max(report_.worst, apart / scale);
    if (!agrees) report_.wrong.push_back(std::move(derivative));
  }

  CheckedFunction function_;
  Point point_;
  const GradientCheck& options_;
  double tolerance_ = 0;
  GradientReport report_;
};

// The values of f32 inputs and states, as given or as they begin.
Point point_of(const Graph& graph, const GradientCheck& options) {
  Point point;
  std::map<std::string, WholeNumbers> ranges = options.ranges;
  for (const auto& [name, value] : options.values) ranges.try_emplace(name);  // not drawn
  point.inputs = random_batch(graph, options.batch, ranges, options.seed);
  for (const State& state : graph.states())
    point.states[state.name] = initial_value(state, options.seed);
  for (const auto& [name, value] : options.values) {
    Tensor* place = nullptr;
    for (const auto& [i, input] : enumerate(graph.inputs()))
      if (graph.value_name(input) == name) place = &point.inputs[static_cast<std::size_t>(i)];
    if (const auto state = point.states.find(name); state != point.states.end())
      place = &state->second;
    require(place, "check_gradients: there is no input or parameter '", name, "'");
    require(place->type() == value.type(), "check_gradients: '", name, "' is ", place->type(),
            ", got ", value.type());
    *place = value.clone();
  }
  return point;
}

Point widened(Point point) {
  for (Tensor& input : point.inputs)
    if (input.dtype() == DType::f32) input = input.cast(DType::f64);
  for (auto& [name, state] : point.states)
    if (state.dtype() == DType::f32) state = state.cast(DType::f64);
  return point;
}

// Checks in f64, unless an op of the network takes nothing but f32.
std::optional<GradientReport> check_in_f64(const Graph& graph, const Point& point,
                                           const GradientCheck& options) try {
  return GradientChecker(CheckedFunction(in_f64(graph), DType::f64, options.seed), widened(point),
                         DType::f64, options)
      .run();
} catch (const UsageError&) {
  return {};
}

}  // namespace

GradientReport check_gradients(const BuildNetwork& build, const GradientCheck& options) {
  require(
      options.batch > 0 && options.most_elements > 0 && options.tolerance >= 0,
      "check_gradients: expected a batch and elements of at least 1 and a tolerance of at least ",
      "0, got ", options.batch, ", ", options.most_elements, " and ", options.tolerance);
  const Graph graph =
      bind_shapes(network_graph("checked", build, Mode::train), {{"N", options.batch}});
  const Point point = point_of(graph, options);
  if (auto report = check_in_f64(graph, point, options)) return *report;
  return GradientChecker(CheckedFunction(graph, DType::f32, options.seed), point, DType::f32,
                         options)
      .run();
}

Tensor drawn(const SampleInput& input, std::uint64_t seed) {
  if (input.constant) return *input.constant;
  Tensor tensor(input.type.dtype, known_dims(input.type.shape));
  const RandomStream random(seed, "sample");
  const bool whole = !is_floating(input.type.dtype);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = input.low + (input.high - input.low) *
                                         static_cast<double>(random.uniform(std::uint64_t(i)));
    tensor.set(i, whole ? std::floor(value) : value);
  }
  return tensor;
}

void add(GradientReport& report, const GradientReport& more) {
  if (more.computed_in == DType::f32) report.computed_in = DType::f32;
  report.checked += more.checked;
  report.kinks += more.kinks;
  report.worst = std::max(report.worst, more.worst);
  report.wrong.insert(report.wrong.end(), more.wrong.begin(), more.wrong.end());
}

std::string text(const GradientReport& report) {
  std::string lines =
      concat(report.checked, " derivatives in ", report.computed_in, ", ", report.wrong.size(),
             " wrong, ", report.kinks, " at kinks; the largest difference is ", report.worst, '\n');
  for (const WrongDerivative& each : report.wrong)
    lines += concat(each.input, each.element, ": gradient() gives ", each.analytic,
                    ", differences ", each.numeric, '\n');
  return lines;
}

}  // namespace narrowgauge
