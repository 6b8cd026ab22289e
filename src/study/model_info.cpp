// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/model_info.h"

#include <algorithm>

#include "api/programs/memory_check.h"
#include "compile/compile.h"
#include "passes/core/operands.h"
#include "precision/apply.h"

namespace narrowgauge {
namespace {

std::int64_t values_in(const State& state) { return element_count(known_dims(state.type.shape)); }

// Trained values that the node reads directly.
std::int64_t parameters_of(const Graph& graph, const Node& node) {
  std::int64_t count = 0;
  for (const State& state : graph.states())
    for (const Value input : node.inputs)
      if (state.role == Role::parameter && input == state.current) count += values_in(state);
  return count;
}

}  // namespace

ModelInfo model_info(const Graph& graph, const Binding& sample) {
  ModelInfo info;
  for (const State& state : graph.states()) {
    if (state.role == Role::parameter) info.parameters += values_in(state);
    if (state.role == Role::statistic) info.statistics += values_in(state);
  }
  for (const Node& node : graph.nodes()) {
    if (is_source(node)) continue;
    LayerInfo layer;
    layer.name = node.full_name();
    layer.op = node.op->full_name();
    if (!node.outputs.empty()) layer.output = concat(node.outputs.front().type);
    layer.parameters = parameters_of(graph, node);
    layer.macs = flops_of(graph, node, sample) / 2;
    info.macs += layer.macs;
    info.layers.push_back(std::move(layer));
  }
  return info;
}

TrainingMemory training_memory(const Graph& graph, const PrecisionPlan& precision,
                               std::int64_t batch) {
  CompileOptions options;
  options.binding = {{"N", batch}};
  const Plan plan = compile(apply(graph, precision), options);
  TrainingMemory memory;
  for (const PlanState& state : plan.states) memory.states += state.bytes;
  memory.activations = plan.value_bytes;
  memory.arena = plan.arena_bytes;
  return memory;
}

std::int64_t batch_bytes(const Graph& graph, std::int64_t batch) {
  std::int64_t bytes = 0;
  for (const Value value : graph.inputs()) {
    const TensorType& type = graph.type(value);
    bytes += bytes_for(element_count(known_dims(bind(type.shape, {{"N", batch}}))), type.dtype);
  }
  return bytes;
}

// Whole blocks of 32 images may need less than fewer images that do not fill them.
std::int64_t largest_batch(const Graph& graph, const PrecisionPlan& precision, std::int64_t bytes) {
  constexpr std::int64_t block = 32;
  const auto needed = [&](std::int64_t batch) {
    return training_memory(graph, precision, batch).total() + batch_bytes(graph, batch);
  };
  const std::int64_t any = most_that_fit(needed, bytes);
  const auto of_blocks = [&](std::int64_t blocks) { return needed(blocks * block); };
  return std::max(any, block * most_that_fit(of_blocks, bytes));
}

}  // namespace narrowgauge
