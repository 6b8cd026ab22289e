// SPDX-License-Identifier: Apache-2.0
// ai.onnx.preview.training's Gradient: derivatives of one value by others, as nodes of the graph.
#include "io/onnx/import/handlers.h"
#include "passes/training/differentiate.h"

namespace narrowgauge::onnx {

namespace {

// Inputs are the values of xs, then of zs, which the attributes name; derivatives at other values
// than those are not supported.
Items gradient(NodeImport& node) {
  const auto* const names = node.node().get<std::vector<std::string>>("xs");
  const auto* const target = node.node().get<std::string>("y");
  require<ModelError>(names && target, "attributes 'xs' and 'y' are expected");
  Values by;
  for (const std::string& name : *names) {
    const int input = static_cast<int>(by.size());
    const Item item = node.scope().find(name, false);
    require<ModelError>(item.kind == Item::Kind::value && item.value == node.value(input),
                        "derivatives at another value than '", name, "' has are not supported");
    by.push_back(item.value);
  }
  const Item y = node.scope().find(*target, false);
  require<ModelError>(y.kind == Item::Kind::value, "'", *target, "' must be a tensor");
  const TensorType type = node.graph().type(y.value);
  if (!is_known(type.shape))
    throw UnknownValueError(concat("Gradient: the shape of '", *target, "' must be known"));
  const Value seed = node.constant(Tensor::full(type.dtype, known_dims(type.shape), 1));
  Items items;
  for (const Value value : append_gradients(node.graph(), {{y.value}}, {{seed}}, by)) {
    require<ModelError>(!value.is_absent(), "'", *target, "' does not depend on an entry of xs");
    items.push_back(Item::of(value));
  }
  return items;
}

constexpr NamedHandler gradient_table[] = {{"ai.onnx.preview.training.Gradient", gradient}};

}  // namespace

std::span<const NamedHandler> gradient_handlers() { return gradient_table; }

}  // namespace narrowgauge::onnx
