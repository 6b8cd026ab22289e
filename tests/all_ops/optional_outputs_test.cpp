// SPDX-License-Identifier: Apache-2.0
// Every op of several outputs through every pass, with each of them read alone and each left out,
// among inputs as they come, constants and quantised values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "all_ops/nearness.h"
#include "all_ops/sample_case.h"
#include "compile/compile.h"
#include "ops/composition/interpret.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/in_f64.h"
#include "passes/forms/recognize_forms.h"
#include "passes/quantized/fake_quantization.h"
#include "passes/quantized/fuse_quantized.h"
#include "passes/shapes/bind_shapes.h"
#include "passes/shapes/open_batch.h"
#include "passes/shapes/reshape_last.h"
#include "passes/simplify/decompose.h"
#include "passes/simplify/fold_constants.h"
#include "passes/simplify/fold_normalizations.h"
#include "passes/simplify/merge_duplicates.h"
#include "passes/simplify/remove_dead_code.h"
#include "passes/training/batch_statistics.h"
#include "passes/training/hoist_state_functions.h"
#include "passes/training/untrained_states.h"
#include "quantize/freeze.h"

namespace narrowgauge::optional_outputs_test {
namespace {

using namespace testing_support;

enum class Place { inputs, constants, bytes };

bool is_float_input(const CaseInput& input) {
  return input.present && !input.constant && input.tensor.dtype() == DType::f32;
}

// The sample with all inputs behind the first as constants, where that is asked for.
SampleCase placed(SampleCase sample, Place place) {
  if (place == Place::constants)
    for (std::size_t i = 1; i < sample.inputs.size(); ++i)
      sample.inputs[i].constant = sample.inputs[i].present;
  return sample;
}

Value in_bytes_and_back(Graph& graph, Value value) {
  const Value scale = graph.constant(Tensor::scalar(DType::f32, 1.0 / 32));
  const Value zero = graph.constant(Tensor::scalar(DType::u8, 128));
  return graph.add(DequantizeLinear{},
                   {graph.add(QuantizeLinear{}, {value, scale, zero}), scale, zero});
}

Graph graph_of(const SampleCase& sample, Place place, const std::set<int>& outputs) {
  Graph graph;
  Values inputs = sample.add_inputs(graph);
  if (place == Place::bytes && !inputs.empty() && is_float_input(sample.inputs[0]))
    inputs[0] = in_bytes_and_back(graph, inputs[0]);
  const Value made = graph.add(*sample.op, sample.attributes, inputs, {.name = "tested"});
  for (const int o : outputs) graph.output(concat("out", o), {made.node, o});
  return graph;
}

// All of them, each alone, and all but each.
std::vector<std::set<int>> choices(int count) {
  std::set<int> all;
  for (int o = 0; o < count; ++o) all.insert(o);
  std::vector<std::set<int>> sets{all};
  for (int o = 0; o < count; ++o) {
    sets.push_back({o});
    sets.push_back(all);
    sets.back().erase(o);
  }
  return sets;
}

Graph with_batch_open_and_bound(const Graph& graph) {
  if (graph.inputs().empty()) return graph;
  Graph open = graph;
  try {
    open = with_open_batch(graph);
  } catch (const UsageError&) {
    return graph;  // as its caller does
  }
  const Shape& first = graph.type(graph.inputs()[0]).shape;
  return first.empty() ? graph : bind_shapes(open, {{"N", first[0].value()}});
}

bool normalizes_by_the_batch(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.is<BatchNormalization>() && node.as<BatchNormalization>().training_mode != 0;
  });
}

using Pass = std::function<Graph(const Graph&)>;

const std::map<std::string, Pass>& passes() {
  static const std::map<std::string, Pass> all{
      {"batch_statistics",
       [](const Graph& g) {
         return normalizes_by_the_batch(g) ? with_batch_statistics(g, true) : g;
       }},
      {"bind_shapes", [](const Graph& g) { return bind_shapes(g, {}); }},
      {"byte_constants", with_byte_constants},
      {"decompose", decompose},
      {"fake_quantization", with_fake_quantization},
      {"fold_constants", fold_constants},
      {"fold_normalizations", fold_normalizations},
      {"fuse_quantized", fuse_quantized},
      {"hoist_state_functions", hoist_state_functions},
      {"in_f64",
       [](const Graph& g) {
         in_f64(g, InputsInF64::kept);  // whose results round elsewhere
         return g;
       }},
      {"merge_duplicates", merge_duplicates},
      {"open_batch", with_batch_open_and_bound},
      {"recognize_forms", recognize_forms},
      {"remove_dead_code", remove_dead_code},
      {"reshape_last", reshape_last},
      {"untrained_states", with_untrained_states}};
  return all;
}

void expect_near(const Tensor& got, const Tensor& expected, double largest) {
  ASSERT_EQ(got.dims(), expected.dims());
  expect_within(got, expected, 1e-5 * largest);
}

std::vector<Tensor> results_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> states;
  for (const State& state : graph.states()) states[state.name] = state.initial.data;
  return interpret(graph, inputs, {.states = &states});
}

void expect_same(const Graph& changed, const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = results_of(graph, inputs), got = results_of(changed, inputs);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t o = 0; o < got.size(); ++o)
    expect_near(got[o], expected[o], largest_of(expected));
}

class OutputsThroughPasses : public OpTest {};

TEST_P(OutputsThroughPasses, stay_what_they_are_through_every_pass) {
  if (GetParam()->info.random) GTEST_SKIP() << "draws numbers of its own";
  for_each_case(*GetParam(), DType::f32, [](const SampleCase& given) {
    const auto outputs = static_cast<int>(given.graph().outputs().size());
    if (outputs < 2) return;
    for (const Place place : {Place::inputs, Place::constants, Place::bytes}) {
      const SampleCase sample = placed(given, place);
      for (const std::set<int>& read : choices(outputs)) {
        const Graph graph = graph_of(sample, place, read);
        for (const auto& [name, pass] : passes()) {
          SCOPED_TRACE(concat(name, '\n', print(graph)));
          ASSERT_NO_THROW(expect_same(pass(graph), graph, sample.fed()));
        }
      }
    }
  });
}

// What is evaluated needs no batch: the statistics are those that were stored.
TEST_P(OutputsThroughPasses, are_there_too_where_nothing_is_trained) {
  if (!GetParam()->gradient || GetParam()->info.random) GTEST_SKIP() << "is not trained";
  for_each_case(*GetParam(), DType::f32, [](const SampleCase& given) {
    const SampleCase sample = placed(given, Place::constants);
    const auto outputs = static_cast<int>(sample.graph().outputs().size());
    for (const std::set<int>& read : choices(outputs)) {
      if (read.empty()) continue;
      const Graph graph = graph_of(sample, Place::constants, read);
      for (const bool training : {false, true}) {
        const Graph changed = with_batch_statistics(graph, training);
        ASSERT_EQ(changed.outputs().size(), graph.outputs().size()) << print(graph);
        for (std::size_t o = 0; o < read.size(); ++o)
          EXPECT_EQ(changed.type(changed.outputs()[o].value), graph.type(graph.outputs()[o].value));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, OutputsThroughPasses, all_ops(), op_name);

}  // namespace
}  // namespace narrowgauge::optional_outputs_test
