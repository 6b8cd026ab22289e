// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/types.h"

#include <set>
#include <string_view>

#include "base/enumerate.h"
#include "base/text/ascii.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

namespace {

// Any text as the name of a symbol: "batch size" gives "batch_size".
std::string symbol_name(std::string_view text) {
  const bool starts = !text.empty() && !is_digit(text[0]);
  std::string name = starts ? "" : "_";
  for (const char c : text) name += is_letter(c) || is_digit(c) ? c : '_';
  return name;
}

Dim dim_of(const Dimension& dimension, const std::string& value, std::int64_t axis) {
  const Dim open = Dim::symbol(concat(symbol_name(value), '_', axis));
  if (const auto* number = std::get_if<std::int64_t>(&dimension.size))
    return *number < 0 ? open : Dim(*number);  // old exporters write -1 for an open size
  const auto* text = std::get_if<std::string>(&dimension.size);
  return text && !text->empty() ? Dim::symbol(symbol_name(*text)) : open;
}

// The type inside of optionals.
const Type* without_optional(const Type* type) {
  while (type)
    if (const auto* optional = std::get_if<OptionalType>(&type->kind))
      type = optional->element ? &**optional->element : nullptr;
    else
      break;
  return type;
}

}  // namespace

std::vector<const ValueInfo*> given_inputs(const Graph& graph) {
  std::set<std::string_view> initialized;
  for (const TensorData& tensor : graph.initializers) initialized.insert(tensor.name);
  for (const SparseTensor& tensor : graph.sparse_initializers)
    initialized.insert(tensor.values.name);
  std::vector<const ValueInfo*> inputs;
  for (const ValueInfo& input : graph.inputs)
    if (!initialized.contains(input.name)) inputs.push_back(&input);
  return inputs;
}

DType dtype_of(DataType type) {
  const DataTypeFacts* const facts = facts_of(type);
  require<ModelError>(facts && facts->dtype, "the type ", name_of(type), " is not supported");
  return *facts->dtype;
}

bool is_sequence(const ValueInfo& info) {
  const Type* const type = info.type ? without_optional(&*info.type) : nullptr;
  return type && std::holds_alternative<SequenceType>(type->kind);
}

namespace {

const DenseTensorType& tensor_type_of(const ValueInfo& info) {
  const auto* tensor = info.type ? std::get_if<DenseTensorType>(&info.type->kind) : nullptr;
  require<ModelError>(tensor, "expected a tensor, the model states another type");
  return *tensor;
}

}  // namespace

DType element_of(const ValueInfo& info) {
  try {
    return dtype_of(tensor_type_of(info).element);
  } catch (const ModelError& error) {
    throw ModelError(concat("input '", info.name, "': ", error.what()));
  }
}

TensorType type_of(const ValueInfo& info) {
  const DenseTensorType* const tensor = &tensor_type_of(info);
  if (!tensor->shape)
    throw UnknownValueError(concat("input '", info.name, "': the model does not state its rank"));
  TensorType type;
  type.dtype = element_of(info);
  for (const auto& [axis, dimension] : enumerate(tensor->shape->dims))
    type.shape.push_back(dim_of(dimension, info.name, axis));
  return type;
}

}  // namespace narrowgauge::onnx
