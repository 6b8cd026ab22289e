// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/open_batch.h"

#include <algorithm>
#include <set>

#include "io/onnx/import/types.h"

namespace narrowgauge::onnx {

namespace {

Dimension* first_size(ValueInfo& info) {
  auto* const tensor = info.type ? std::get_if<DenseTensorType>(&info.type->kind) : nullptr;
  if (!tensor || !tensor->shape || tensor->shape->dims.empty()) return nullptr;
  return &tensor->shape->dims.front();
}

std::set<std::string> names_of_given(const Graph& graph) {
  std::set<std::string> names;
  for (const ValueInfo* input : given_inputs(graph)) names.insert(input->name);
  return names;
}

class BatchOpener {
 public:
  explicit BatchOpener(Model& model) : graph_(model.graph), given_(names_of_given(model.graph)) {}

  void run() {
    if (!find_batch()) return;
    for (ValueInfo& input : graph_.inputs)
      if (given_.contains(input.name)) first_size(input)->size.emplace<std::string>("N");
    for (ValueInfo& output : graph_.outputs)
      if (Dimension* const size = first_size(output); size && states_batch(*size))
        size->size = std::monostate{};
    graph_.value_infos.clear();
    std::set<std::string> of_inputs = given_;
    for (Node& node : graph_.nodes) {
      const bool depends = std::ranges::any_of(
          node.inputs, [&](const std::string& name) { return of_inputs.contains(name); });
      if (!depends) continue;
      of_inputs.insert(node.outputs.begin(), node.outputs.end());
      if (node.full_name() == "Reshape") open(node);
    }
  }

 private:
  bool states_batch(const Dimension& size) const {
    const auto* const number = std::get_if<std::int64_t>(&size.size);
    return number && *number == batch_;
  }

  bool find_batch() {
    for (ValueInfo& input : graph_.inputs) {
      if (!given_.contains(input.name)) continue;
      const Dimension* const size = first_size(input);
      const auto* const number = size ? std::get_if<std::int64_t>(&size->size) : nullptr;
      if (!number || (batch_ != 0 && *number != batch_)) return false;
      batch_ = *number;
    }
    return batch_ > 0;
  }

  // Where another size is to be inferred, the batch is that of the input.
  void open(Dims& shape) const {
    if (shape.empty() || shape[0] != batch_) return;
    shape[0] = std::ranges::find(shape, -1) == shape.end() ? -1 : 0;
  }

  void open(Node& node) {
    for (Attribute& attribute : node.attributes)
      if (attribute.name == "shape")
        if (auto* const shape = std::get_if<std::vector<std::int64_t>>(&attribute.value))
          open(*shape);
    if (node.inputs.size() < 2) return;
    const TensorData* const stated = constant(node.inputs[1]);
    if (!stated) return;
    const Tensor before = tensor_of(*stated);
    Dims shape;
    for (std::int64_t i = 0; i < before.size(); ++i)
      shape.push_back(static_cast<std::int64_t>(before.at(i)));
    const Dims old = shape;
    open(shape);
    if (shape == old) return;
    node.inputs[1] += ".open";
    if (!constant(node.inputs[1]))
      graph_.initializers.push_back(
          tensor_data_of(Tensor::from<std::int64_t>({std::ssize(shape)}, shape), node.inputs[1]));
  }

  // The value of a name that is an initializer or made by a Constant; nullptr for others.
  const TensorData* constant(const std::string& name) const {
    const auto found = std::ranges::find(graph_.initializers, name, &TensorData::name);
    if (found != graph_.initializers.end()) return &*found;
    for (const Node& node : graph_.nodes)
      if (node.full_name() == "Constant" && node.outputs == std::vector{name})
        if (const auto* value = node.get<Box<TensorData>>("value")) return &**value;
    return nullptr;
  }

  Graph& graph_;
  std::set<std::string> given_;  // names of inputs
  std::int64_t batch_ = 0;       // as the inputs state it
};

}  // namespace

Model with_open_batch(Model model) {
  BatchOpener(model).run();
  return model;
}

}  // namespace narrowgauge::onnx
