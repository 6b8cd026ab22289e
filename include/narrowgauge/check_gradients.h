// SPDX-License-Identifier: Apache-2.0
// Compares gradients with differences of the function itself: for ops of a program's own, and for
// networks made of them.
//
//   const GradientReport report = check_gradients(MyOp{}, {x, weights});
//   if (!report.passed()) std::cerr << text(report);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/network.h"
#include "narrowgauge/random_batch.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// The inputs of check_gradients(), and how close it looks.
struct NG_API GradientCheck {
  std::int64_t batch = 3;                        // for the symbol N
  std::map<std::string, Tensor> values{};        // of inputs and parameters, by name
  std::map<std::string, WholeNumbers> ranges{};  // of inputs i64 without a value
  std::int64_t most_elements = 64;               // of each input and parameter, spread over it
  // The largest difference, relative to the largest derivative of the same input; 0: 1e-6 in f64,
  // 0.01 in f32.
  double tolerance = 0;
  std::uint64_t seed = 1;  // of inputs without a value, and of random ops
};

// A derivative that is another than differences of the function tell.
struct WrongDerivative {
  std::string input;    // or parameter
  Dims element;         // its place in the input
  double analytic = 0;  // by gradient()
  double numeric = 0;   // by differences
};

// The result of check_gradients().
struct NG_API GradientReport {
  DType computed_in = DType::f64;  // or f32, where a kernel takes no f64
  std::int64_t checked = 0;        // derivatives that were compared
  // Derivatives left out because the function has none there: from the left it is another than from
  // the right, as for a Relu at 0.
  std::int64_t kinks = 0;
  double worst = 0;                      // the largest difference, as for the tolerance
  std::vector<WrongDerivative> wrong{};  // beyond the tolerance, by input and place
  bool passed() const { return wrong.empty() && checked > 0; }  // whether all agree
};

// Differentiates a weighted sum of all outputs of a network in training (random weights, the same
// random numbers each time) by its floating-point inputs and its parameters, and compares with
// differences in f64, or in f32 where the kernels of an op decline f64. Inputs without a
// value are drawn from a normal distribution, parameters begin as the network says. Throws
// UsageError for values that do not fit, and what an op throws, also for one without a gradient.
NG_API GradientReport check_gradients(const BuildNetwork& build, const GradientCheck& options = {});

// A line for what was compared, and one for each wrong derivative.
NG_API std::string text(const GradientReport& report);

// Checks the gradients of one op in the same way, by all inputs of f32. Inputs at the end that are
// optional may be left out.
template <Op T>
GradientReport check_gradients(const T& op, const std::vector<Tensor>& inputs,
                               GradientCheck options = {}) {
  const auto name_of = [](std::size_t input) {
    const Port& port = record_of<T>().input_port(static_cast<int>(input));
    return port.variadic ? port.name + std::to_string(input) : port.name;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].dtype() == DType::f32) options.values[name_of(i)] = inputs[i];
  const BuildNetwork build = [&](Network& net) {
    Values values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Dims& dims = inputs[i].dims();
      values.push_back(inputs[i].dtype() == DType::f32
                           ? net.input(name_of(i), Shape(dims.begin(), dims.end()))
                           : net.graph().constant(inputs[i]));
    }
    const Value made = net.apply(op, values, "op");
    const int outputs = static_cast<int>(net.graph().producer(made).outputs.size());
    for (int o = 0; o < outputs; ++o)
      net.output(record_of<T>().output_port(o).name + std::to_string(o), {made.node, o});
    return made;
  };
  return check_gradients(build, options);
}

// The value of a sample's input: its constant, or one drawn from its range by the seed.
NG_API Tensor drawn(const SampleInput& input, std::uint64_t seed);
// Adds up two reports: what was compared in both, the larger difference, and all wrong derivatives.
NG_API void add(GradientReport& report, const GradientReport& more);

// Checks the gradients of an op at each sample that it has, as
// `static std::vector<Sample<T>> samples()`, up to the first input that is left out.
template <Op T>
requires requires { T::samples(); }
GradientReport check_gradients(const GradientCheck& options = {}) {
  GradientReport all;
  for (const Sample<T>& sample : T::samples()) {
    std::vector<Tensor> inputs;
    for (const SampleInput& input : sample.inputs) {
      if (!input.present) break;
      inputs.push_back(drawn(input, options.seed + inputs.size()));
    }
    add(all, check_gradients(sample.op, inputs, options));
  }
  return all;
}

}  // namespace narrowgauge
