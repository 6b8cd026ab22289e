// SPDX-License-Identifier: Apache-2.0
// Runs one op on tensors by the kernel of a given name: what the tests of ops are made of.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "ops/composition/interpret.h"

namespace narrowgauge::testing_support {

// A graph of one node whose inputs are those of the graph; tensors without elements of rank 1
// (Tensor{}) stand for absent inputs.
template <Op T>
std::vector<Tensor> run_op(T op, const std::vector<Tensor>& inputs, bool reference = false) {
  Graph graph;
  Values values;
  std::vector<Tensor> given;
  for (const Tensor& input : inputs) {
    if (input.dims() == Dims{0}) {
      values.push_back(absent);
      continue;
    }
    values.push_back(graph.input(concat("in", values.size()), input.type()));
    given.push_back(input);
  }
  const Value first = graph.add(std::move(op), std::move(values));
  for (int i = 0; i < static_cast<int>(graph.producer(first).outputs.size()); ++i)
    graph.output(concat("out", i), {first.node, i});
  return interpret(graph, given, {.reference = reference});
}

inline std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

}  // namespace narrowgauge::testing_support
