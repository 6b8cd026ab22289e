// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/frozen.h"

#include <set>
#include <shared_mutex>

#include "api/model/model_implementation.h"
#include "api/model/onnx_network.h"
#include "api/programs/kernel_cache.h"
#include "passes/simplify/fold_constants.h"
#include "passes/simplify/fold_normalizations.h"
#include "passes/simplify/merge_duplicates.h"
#include "passes/simplify/remove_dead_code.h"
#include "passes/training/hoist_state_functions.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "quantize/freeze.h"

namespace narrowgauge {

namespace {

Graph evaluation_graph(const Model::Implementation& inside) {
  try {
    return inside.graph(Mode::evaluate);
  } catch (const UnknownValueError& error) {
    throw ModelError(error.what());  // nothing that the caller passes can make it known
  }
}

}  // namespace

Graph frozen_graph(const Model& model) {
  const Model::Implementation& inside = ModelAccess::of(model);
  const std::shared_lock reading(inside.in_use);
  Graph graph = evaluation_graph(inside);
  const auto given = [&](std::string_view name) { return inside.store.declared(name); };
  if (is_quantized(graph)) return with_byte_constants(freeze(graph, given));
  graph = hoist_state_functions(fold_normalizations(graph));
  StateStore store;
  store.add(graph, inside.seed);
  std::set<std::string> derived;
  for (const State& state : graph.states())
    if (state.role == Role::derived)
      derived.insert(state.name);
    else
      store.set(state.name, given(state.name));
  store.refresh_derived(derived);
  return remove_dead_code(merge_duplicates(
      fold_constants(freeze(graph, [&](std::string_view name) { return store.at(name); }))));
}

BuildNetwork network_of(Graph graph) {
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  return [shared](Network& network) {
    add_graph(*shared, network);
    return network.find_output(shared->outputs().at(0).name);
  };
}

namespace {

Graph in_f32(const Graph& graph) { return apply(graph, make_precision_plan(graph, {})); }

CompileOptions frozen_options(bool deterministic) {
  CompileOptions options;
  options.deterministic = deterministic;
  if (!deterministic) options.kernels = kernel_cache();
  return options;
}

}  // namespace

FrozenNetwork::FrozenNetwork(const Graph& graph, bool deterministic)
    : program_(in_f32(graph), frozen_options(deterministic), store_, 1) {}

std::vector<Tensor> FrozenNetwork::run(std::span<const Tensor> inputs) {
  return executor_for(inputs)->run(inputs);
}

Program::Lease FrozenNetwork::executor_for(std::span<const Tensor> inputs) {
  return program_.executor_for(inputs);
}

}  // namespace narrowgauge
