// SPDX-License-Identifier: Apache-2.0
#include "api/programs/open_shapes.h"

#include <algorithm>
#include <set>

#include "api/programs/kernel_cache.h"
#include "base/machine/floating_environment.h"
#include "io/onnx/import.h"
#include "ops/composition/interpret.h"
#include "passes/forms/recognize_forms.h"

namespace narrowgauge {

namespace {

std::vector<std::string> names_of_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value value : graph.inputs()) names.push_back(graph.value_name(value));
  return names;
}

std::vector<std::string> names_of_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphOutput& output : graph.outputs()) names.push_back(output.name);
  return names;
}

std::vector<NamedTensor> named(const std::vector<std::string>& names, std::vector<Tensor> tensors) {
  std::vector<NamedTensor> result;
  for (std::size_t i = 0; i < names.size(); ++i)
    result.push_back({names[i], std::move(tensors.at(i))});
  return result;
}

std::map<std::string, TensorType> types_by_name(std::span<const NamedTensor> tensors) {
  std::map<std::string, TensorType> types;
  for (const NamedTensor& each : tensors) types[each.name] = each.tensor.type();
  return types;
}

const Tensor& find(std::span<const NamedTensor> tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  require(found != tensors.end(), "input '", name, "' is missing");
  return found->tensor;
}

}  // namespace

Graph OpenShapes::graph_for(const std::map<std::string, TensorType>& types) const {
  return recognize_forms(onnx::import_graph(*model_, {.types = types}));
}

Graph OpenShapes::graph_for(std::span<const NamedTensor> inputs) const {
  return graph_for(types_by_name(inputs));
}

OpenShapes::Shaped& OpenShapes::shaped_for(std::span<const NamedTensor> inputs,
                                           const MakeProgram& make_program) {
  Shaped wanted;
  wanted.types = types_by_name(inputs);
  const auto known = std::ranges::find(shaped_, wanted.types, &Shaped::types);
  if (known != shaped_.end()) {
    shaped_.splice(shaped_.begin(), shaped_, known);
    return shaped_.front();
  }
  try {
    const Graph graph = graph_for(wanted.types);
    wanted.inputs = names_of_inputs(graph);
    wanted.outputs = names_of_outputs(graph);
    store_.add(graph, seed_);
    CompileOptions options;
    options.kernels = kernel_cache();
    wanted.program = make_program(graph, std::move(options));
  } catch (const UnknownValueError&) {
    // Left without a program.
  }
  shaped_.push_front(std::move(wanted));
  drop_surplus();
  return shaped_.front();
}

// Drops programs beyond the memory that plans may take. What was derived from weights for their
// shapes alone goes too.
void OpenShapes::drop_surplus() {
  // A graph takes about as much as the plan that is made of it.
  const auto bytes_of = [](const Shaped& shaped) {
    constexpr std::int64_t least = 4096;
    return least + (shaped.program ? 2 * shaped.program->plan_bytes() : 0);
  };
  std::int64_t bytes = 0;
  for (const Shaped& shaped : shaped_) bytes += bytes_of(shaped);
  const std::size_t before = shaped_.size();
  while (shaped_.size() > Program::least_plans && bytes > memory_->most_bytes) {
    bytes -= bytes_of(shaped_.back());
    shaped_.pop_back();
  }
  if (shaped_.size() == before) return;
  std::set<std::string> read;
  for (const Shaped& shaped : shaped_)
    if (shaped.program) read.merge(shaped.program->states());
  store_.keep_derived(read);
}

std::vector<NamedTensor> OpenShapes::run_by_nodes(std::span<const NamedTensor> inputs) const {
  onnx::ImportOptions options{.parameters = false};
  for (const onnx::ValueInfo& info : model_->graph.inputs) options.known[info.name];
  for (const NamedTensor& input : inputs) {
    // An element of a sequence is called "name[0]".
    const std::string whole = input.name.substr(0, input.name.rfind('['));
    const bool is_input = options.known.contains(input.name);
    options.known[is_input ? input.name : whole].values.push_back(input.tensor);
  }
  const FloatingEnvironment environment(Subnormals::keep);
  const Graph graph = onnx::import_graph(*model_, options);
  return named(names_of_outputs(graph), interpret(graph, {}));
}

OpenShapes::Answering OpenShapes::answering(std::span<const NamedTensor> inputs,
                                            const MakeProgram& make_program) {
  const Shaped& shaped = shaped_for(inputs, make_program);
  if (!shaped.program) return {};
  std::vector<Tensor> ordered;
  for (const std::string& name : shaped.inputs) ordered.push_back(find(inputs, name));
  Program::Lease executor = shaped.program->executor_for(ordered);
  return {std::move(executor), std::move(ordered), shaped.outputs};
}

std::vector<NamedTensor> OpenShapes::run(std::span<const NamedTensor> inputs,
                                         const MakeProgram& make_program, bool planned_by_node) {
  const Answering ready = answering(inputs, make_program);
  require(ready.executor || !planned_by_node,
          "precision: a plan or an override reaches nothing, as shapes depend on values: each node "
          "is computed by itself, in f32");
  return ready.executor ? named(ready.outputs, ready.executor->run(ready.inputs))
                        : run_by_nodes(inputs);
}

}  // namespace narrowgauge
