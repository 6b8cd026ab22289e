// SPDX-License-Identifier: Apache-2.0
// ONNX's Constant, whose value may stand in one of several attributes.
#include "io/onnx/import/attributes.h"
#include "io/onnx/import/dense.h"
#include "io/onnx/import/handlers.h"

namespace narrowgauge::onnx {

namespace {

Tensor value_of(const Node& node) {
  if (const auto* value = node.get<Box<TensorData>>("value")) return tensor_of(**value);
  if (const auto* value = node.get<Box<SparseTensor>>("sparse_value")) return dense(**value);
  if (const auto* value = node.get<std::int64_t>("value_int"))
    return Tensor::from<std::int64_t>({}, std::vector{*value});
  if (const auto* value = node.get<float>("value_float"))
    return Tensor::from<float>({}, std::vector{*value});
  if (const auto* values = node.get<Dims>("value_ints")) return tensor_of(*values);
  if (const auto* values = node.get<std::vector<float>>("value_floats")) return tensor_of(*values);
  throw ModelError("a constant has no value");
}

Items constant(NodeImport& node) {
  if (const auto* text = node.node().get<std::string>("value_string"))
    return {Item::of(Texts{{}, {*text}})};
  if (const auto* texts = node.node().get<std::vector<std::string>>("value_strings"))
    return {Item::of(Texts{{std::ssize(*texts)}, *texts})};
  if (const auto* value = node.node().get<Box<TensorData>>("value");
      value && (*value)->data_type == DataType::string)
    return {Item::of(texts_of(**value))};
  const std::string& name = node.name();
  return {Item::of(node.graph().constant(value_of(node.node()),
                                         name.empty() ? "" : node.graph().unique_name(name)))};
}

constexpr NamedHandler constants_table[] = {{"Constant", constant, "no inputs"}};

}  // namespace

std::span<const NamedHandler> constant_handlers() { return constants_table; }

}  // namespace narrowgauge::onnx
