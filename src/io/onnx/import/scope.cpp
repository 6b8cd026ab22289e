// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/scope.h"

#include <algorithm>

#include "io/onnx/import/dense.h"
#include "ir/attributes.h"

namespace narrowgauge::onnx {

const std::string& own_name(const Node& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

void Scope::add_initializers(const Graph& graph) {
  for (const TensorData& tensor : graph.initializers) initializers_[tensor.name].data = &tensor;
  for (const SparseTensor& tensor : graph.sparse_initializers) {
    Initializer& initializer = initializers_[tensor.values.name];
    initializer.data = &tensor.values;
    initializer.sparse = &tensor;
  }
}

Value Scope::value_of(const Initializer& initializer, bool constant) {
  const std::string name = graph_.unique_name(initializer.data->name);
  Tensor tensor = initializer.sparse ? dense(*initializer.sparse) : tensor_of(*initializer.data);
  if (constant) return graph_.constant(std::move(tensor), name);
  State state;
  state.name = name;
  state.type = tensor.type();
  state.initial = Initial::of(std::move(tensor));
  return graph_.state(std::move(state));
}

bool Scope::find_here(const std::string& name, bool constant, Item& item) {
  if (const auto known = items_.find(name); known != items_.end()) {
    item = known->second;
    return true;
  }
  const auto found = initializers_.find(name);
  if (found == initializers_.end()) return false;
  Initializer& initializer = found->second;
  if (initializer.data->data_type == DataType::string) {
    item = Item::of(texts_of(*initializer.data));
    return true;
  }
  const auto facts = facts_of(initializer.data->data_type);
  const bool trained = facts && facts->dtype == DType::f32 && !initializer.data->dims.empty();
  const bool parameter = !constant && !constants_ && trained && kind_ != Outer::around_region;
  Value& value = parameter ? initializer.as_parameter : initializer.as_constant;
  if (value.is_absent()) value = value_of(initializer, !parameter);
  item = Item::of(value);
  return true;
}

Scope* Scope::region() {
  Scope* scope = this;
  while (scope && scope->kind_ == Outer::same_graph) scope = scope->outer_;
  return scope && scope->kind_ == Outer::around_region ? scope : nullptr;
}

void Scope::keep_names_of(const Graph& graph) {
  for (const Node& node : graph.nodes) kept_names_.insert(own_name(node));
}

Value Scope::outside_of(Value inside) const {
  const auto found = std::ranges::find(captures_, inside, &Capture::inside);
  return found == captures_.end() ? absent : found->outside;
}

// Whether a value is computed from parameters and constants alone, as the scope tells that is
// outermost in its graph.
bool Scope::is_of_parameters(Value value) {
  if (kind_ == Outer::same_graph) return outer_->is_of_parameters(value);
  const auto flag = [&](Value input) {
    return input.is_absent() || graph_.constant_value(input) ||
           of_parameters_[static_cast<std::size_t>(input.node)];
  };
  while (std::ssize(of_parameters_) <= value.node) {
    const int index = static_cast<int>(of_parameters_.size());
    const narrowgauge::Node& node = graph_.node(index);
    const Value outside = node.is<Input>() ? outside_of(Value{index, 0}) : absent;
    of_parameters_.push_back(node.is<StateValue>() ||
                             (!outside.is_absent() && outer_->is_of_parameters(outside)) ||
                             (!is_source(node) && !is_random(node) && !node.inputs.empty() &&
                              std::ranges::all_of(node.inputs, flag)));
  }
  return of_parameters_[static_cast<std::size_t>(value.node)];
}

bool Scope::are_of_parameters(const Values& values) {
  bool any = false;
  for (const Value value : values) {
    if (value.is_absent() || graph_.constant_value(value)) continue;
    const Value outside = outside_of(value);
    if (outside.is_absent() || !outer_->is_of_parameters(outside)) return false;
    any = true;
  }
  return any;
}

Values Scope::outside_of(const Values& inside) {
  Values values;
  for (const Value value : inside) {
    const Tensor* const constant = value.is_absent() ? nullptr : graph_.constant_value(value);
    values.push_back(constant ? outer_->graph().constant(*constant) : outside_of(value));
  }
  return values;
}

Value Scope::captured(Value outside) {
  for (const Capture& capture : captures_)
    if (capture.outside == outside) return capture.inside;
  if (const Tensor* constant = outer_->graph().constant_value(outside))
    return graph_.constant(*constant);
  std::string name = outer_->graph().value_name(outside);
  if (kept_names_.contains(name)) name += ".outside";
  captures_.push_back(
      {outside, graph_.input(graph_.unique_name(name), outer_->graph().type(outside))});
  return captures_.back().inside;
}

Item Scope::captured(const Item& item) {
  if (item.kind == Item::Kind::value) return Item::of(captured(item.value));
  Item inside{item.kind, absent, {}, item.texts};
  for (const Item& element : item.elements) inside.elements.push_back(captured(element));
  return inside;
}

bool Scope::find_anywhere(const std::string& name, bool constant, Item& item) {
  if (find_here(name, constant, item)) return true;
  if (!outer_ || !outer_->find_anywhere(name, constant, item)) return false;
  if (kind_ == Outer::around_region) item = captured(item);
  return true;
}

Item Scope::find(const std::string& name, bool constant) {
  Item item;
  require<ModelError>(find_anywhere(name, constant, item), "nothing makes the value '", name, "'");
  return item;
}

}  // namespace narrowgauge::onnx
