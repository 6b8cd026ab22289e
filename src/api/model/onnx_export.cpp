// SPDX-License-Identifier: Apache-2.0
// Models as files of ONNX.
#include <map>
#include <shared_mutex>

#include "api/model/model_implementation.h"
#include "base/machine/floating_environment.h"
#include "io/onnx/export/export.h"
#include "io/onnx/write.h"
#include "passes/shapes/bind_shapes.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t largest_inside = std::int64_t{1} << 30;  // bytes of tensors in the file
constexpr std::int64_t external_from = 1024;                    // bytes of a tensor

Graph with_batch(const Graph& graph, std::int64_t batch) {
  Binding binding;
  for (const Value input : graph.inputs())
    if (const Shape& shape = graph.type(input).shape; !shape.empty() && !shape[0].is_known())
      binding[shape[0].text()] = batch;
  return bind_shapes(graph, binding);
}

onnx::WriteOptions write_options_for(const onnx::Model& model) {
  std::int64_t bytes = 0;
  for (const onnx::TensorData& tensor : model.graph.initializers)
    bytes += onnx::raw_bytes(tensor).value_or(0);
  onnx::WriteOptions options{.aligned = true};
  if (bytes > largest_inside) options.external_from = external_from;
  return options;
}

// Called with the model in use, as the tensors of the result share memory with it.
onnx::Model exported(const Model::Implementation& self, std::optional<std::int64_t> batch) {
  Graph graph = self.graph(Mode::evaluate);
  const bool in_f64 = self.is_in_f64();  // the file is in f32 then
  if (!in_f64) graph = self.with_masters(graph);
  if (batch) graph = with_batch(graph, *batch);
  std::map<std::string, Tensor> states;
  for (const State& state : graph.states()) {
    const Tensor value = self.store.declared(state.name);
    states[state.name] = in_f64 ? value.cast(state.type.dtype) : value;
  }
  return onnx::export_graph(graph, states);
}

}  // namespace

void Model::to_onnx(const std::string& path, std::optional<std::int64_t> batch) const {
  const FloatingEnvironment environment(Subnormals::keep);
  const std::shared_lock reading(implementation_->in_use);
  const onnx::Model model = exported(*implementation_, batch);
  onnx::write_model(path, model, write_options_for(model));
}

std::vector<std::byte> Model::to_onnx(std::optional<std::int64_t> batch) const {
  const std::shared_lock reading(implementation_->in_use);
  const std::string file = onnx::serialized_alone(exported(*implementation_, batch));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

}  // namespace narrowgauge
