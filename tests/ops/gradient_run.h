// SPDX-License-Identifier: Apache-2.0
// The gradient of one op, as it builds it, on given tensors; and sums that stand for whole tensors
// in comparisons with numbers computed elsewhere.
#pragma once

#include "ops/sample_run.h"
#include "passes/differentiate.h"

namespace narrowgauge {

// Floating inputs become the graph's, labels its constants; `wanted`: which have gradients.
inline Values add_inputs(Graph& graph, const OpRecord& op,
                         const std::vector<std::optional<Tensor>>& inputs,
                         std::vector<Tensor>& given, std::vector<bool>& wanted) {
  Values values;
  for (const auto& input : inputs) {
    const bool floating = input && is_floating(input->dtype());
    const auto& port = op.input_port(static_cast<int>(values.size()));
    wanted.push_back(floating && port.differentiable);
    values.push_back(!input || floating ? absent : graph.constant(*input));
    if (!floating) continue;
    values.back() = graph.input(concat("x", values.size()), input->type());
    given.push_back(*input);
  }
  return values;
}

// The op's first output (or `output`), then the gradients of its floating inputs for the seed `dy`;
// an empty tensor where there is none.
template <class T>
std::vector<Tensor> run_gradient(T op, const std::vector<std::optional<Tensor>>& inputs,
                                 const std::function<Tensor(const Dims&)>& dy, int output = 0,
                                 bool reference = false) {
  Graph graph;
  std::vector<Tensor> given;
  std::vector<bool> wanted;
  const Values values = add_inputs(graph, record_of<T>(), inputs, given, wanted);
  const Value y = graph.add(op, values);
  Values outputs, seeds;
  for (int o = 0; o < static_cast<int>(graph.node(y.node).outputs.size()); ++o)
    outputs.push_back({y.node, o});
  seeds.resize(outputs.size());
  const TensorType type = graph.type(outputs.at(static_cast<std::size_t>(output)));
  seeds[static_cast<std::size_t>(output)] = graph.input("dy", type);
  given.push_back(dy(known_dims(type.shape)).cast(type.dtype));

  Gradient gradient(graph, values, outputs, seeds, wanted, nullptr);
  const Values found = op.gradient(gradient);
  graph.output("y", outputs[static_cast<std::size_t>(output)]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (wanted[i] && !found[i].is_absent()) {
      EXPECT_EQ(graph.type(found[i]), graph.type(values[i])) << "gradient of input " << i;
      graph.output(concat("dx", i), found[i]);
    }
  const std::vector<Tensor> results = interpret(graph, given, {.reference = reference});
  std::vector<Tensor> all{results[0]};
  std::size_t next = 1;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    all.push_back(wanted[i] && !found[i].is_absent() ? results[next++] : Tensor());
  return all;
}

// Gradients of sum(dx * q), dx the gradient of the op's first output for the seed dy with respect
// to the input `wanted`, with respect to every input and to dy: second derivatives.
template <class T>
std::vector<Tensor> run_second_gradient(T op, const std::vector<Tensor>& inputs, std::size_t wanted,
                                        const std::function<Tensor(const Dims&, int)>& seed) {
  Graph graph;
  Values values;
  std::vector<Tensor> given = inputs;
  for (const Tensor& input : inputs)
    values.push_back(graph.input(concat("x", values.size()), input.type()));
  const Value y = graph.add(std::move(op), values);
  const Value dy = graph.input("dy", graph.type(y));
  given.push_back(seed(known_dims(graph.type(y).shape), 6));
  const Value first = append_gradients(graph, std::span(&y, 1), std::span(&dy, 1),
                                       std::span(&values[wanted], 1))[0];
  const Value q = graph.input("q", graph.type(first));
  given.push_back(seed(inputs[wanted].dims(), 7));
  values.push_back(dy);
  const Values second = append_gradients(graph, std::span(&first, 1), std::span(&q, 1), values);
  for (std::size_t i = 0; i < second.size(); ++i)
    if (!second[i].is_absent()) graph.output(concat("d", i), second[i]);
  const std::vector<Tensor> results = interpret(graph, given, {.reference = true});
  std::vector<Tensor> all;
  std::size_t next = 0;
  for (const Value& value : second) all.push_back(value.is_absent() ? Tensor() : results[next++]);
  return all;
}

// What the op's primitives make of the inputs, by their reference kernels.
template <class T>
std::vector<Tensor> run_decomposition(const T& op,
                                      const std::vector<std::optional<Tensor>>& inputs) {
  Graph graph;
  Values values;
  std::vector<Tensor> given;
  for (const auto& input : inputs) {
    values.push_back(input ? graph.input(concat("x", values.size()), input->type()) : absent);
    if (input) given.push_back(*input);
  }
  Rewriting rewriting(graph, values, {});
  for (const Value& value : op.decompose(rewriting))
    graph.output(concat("y", graph.outputs().size()), value);
  return interpret(graph, given);
}

// Every sample: the primitives agree with the op's reference kernel, in f64.
template <class T>
void expect_decomposition_matches_reference() {
  for (const Sample<T>& sample : samples_of<T>()) {
    const auto inputs = draw({Attributes::of(T(sample.op)), sample.inputs}, DType::f64);
    const KernelResult expected = run_kernel(T(sample.op), inputs, {.reference = true});
    const std::vector<Tensor> got = run_decomposition(sample.op, inputs);
    ASSERT_EQ(got.size(), expected.outputs.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      EXPECT_EQ(got[o].type(), expected.outputs[o].type());
      expect_near(got[o], values_of(expected.outputs[o]), 1e-12, concat("output ", o));
    }
  }
}

// The sum over i of tensor[i] * pattern[i]: one number in which every element has its own weight.
inline double fingerprint(const Tensor& tensor) {
  const Tensor weights = pattern(DType::f64, {tensor.size()}, 9);
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) sum += tensor.at(i) * weights.at(i);
  return sum;
}

// Fingerprints of what run_gradient returns, against expected ones.
inline void expect_fingerprints(const std::vector<Tensor>& tensors,
                                const std::vector<double>& expected, double bound,
                                const std::string& what) {
  ASSERT_GE(tensors.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(fingerprint(tensors[i]), expected[i], bound * std::max(1.0, std::abs(expected[i])))
        << what << " tensor " << i;
}

}  // namespace narrowgauge
