// SPDX-License-Identifier: Apache-2.0
// Every op on weights alone: computed once, and again after these change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "all_ops/sample_case.h"
#include "compile/compile.h"
#include "ops/composition/interpret.h"
#include "ops/pointwise/cast.h"
#include "passes/core/operands.h"
#include "passes/training/hoist_state_functions.h"
#include "runtime/executor.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::hoisted_values_test {
namespace {

using namespace testing_support;

std::string name_of(std::size_t input) { return concat("in", input); }

// The sample's inputs as states, beside an input of the graph that nothing reads.
Graph on_states(const SampleCase& sample) {
  Graph graph;
  graph.input("unread", {DType::f32, {1}});
  Values inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const auto& [tensor, present, constant] = sample.inputs[i];
    if (!present)
      inputs.push_back(absent);
    else if (constant)
      inputs.push_back(graph.constant(tensor, name_of(i)));
    else
      inputs.push_back(graph.state(
          {name_of(i), Role::parameter, tensor.type(), Initial::of(tensor), absent, absent}));
  }
  const Value made = graph.add(*sample.op, sample.attributes, inputs, {.name = "tested"});
  for (int o = 0; o < std::ssize(graph.producer(made).outputs); ++o)
    graph.output(concat("out", o), {made.node, o});
  return graph;
}

std::int64_t bytes_of(const Graph& graph, Value value) {
  const TensorType& type = graph.type(value);
  return bytes_for(element_count(known_dims(type.shape)), type.dtype);
}

// Why a node of states alone may stay: hoist_state_functions.h has the rule.
bool may_stay(const Graph& graph, const Node& node) {
  if (is_view(node) || is_random(node) || graph.states().empty()) return true;
  if (node.is<Cast>() && is_narrow(node.outputs[0].type.dtype)) return true;
  std::int64_t made = 0, from = 0;
  for (const GraphOutput& output : graph.outputs()) made += bytes_of(graph, output.value);
  for (const State& state : graph.states()) from += bytes_of(graph, state.current);
  return made > from;
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(got[o].type(), expected[o].type());
    for (std::int64_t i = 0; i < expected[o].size(); ++i) {
      const double a = got[o].at(i), e = expected[o].at(i);
      if (a == e || (std::isnan(a) && std::isnan(e))) continue;
      ASSERT_LE(std::abs(a - e), 1e-5 * (1 + std::abs(e))) << "output " << o << " element " << i;
    }
  }
}

// Other values of floating states: the same in reverse order.
Tensor reversed(const Tensor& tensor) {
  Tensor result = tensor.clone();
  for (std::int64_t i = 0; i < tensor.size(); ++i) result.set(i, tensor.at(tensor.size() - 1 - i));
  return result;
}

class HoistedValues : public OpTest {};

TEST_P(HoistedValues, of_weights_alone_are_computed_once_and_follow_them) {
  for_each_case(*GetParam(), DType::f32, [](const SampleCase& sample) {
    const Graph graph = on_states(sample), hoisted = hoist_state_functions(graph);
    const int left = hoisted.find_node("tested");
    if (left >= 0) {
      EXPECT_TRUE(may_stay(graph, hoisted.node(left))) << print(hoisted);
    }
    if (is_random(graph.node(graph.find_node("tested")))) return;
    StateStore store;
    store.add(graph, 1);
    Executor executor(make_plan(hoisted, {}), store, 1);
    const std::vector<Tensor> inputs{Tensor(DType::f32, {1})};
    std::map<std::string, Tensor> states;
    for (const State& state : graph.states()) states[state.name] = state.initial.data;
    expect_near(executor.run(inputs), interpret(graph, inputs, {.states = &states}));
    for (auto& [name, value] : states) {
      if (!is_floating(value.dtype())) continue;
      value = reversed(value);
      store.set(name, value);
    }
    expect_near(executor.run(inputs), interpret(graph, inputs, {.states = &states}));
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, HoistedValues, ops_where([](const OpRecord& op) {
                           return !op.kernels().empty() && op.info.stage == Stage::built;
                         }),
                         op_name);

}  // namespace
}  // namespace narrowgauge::hoisted_values_test
