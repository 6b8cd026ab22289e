// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/fold.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ir/attributes.h"
#include "ops/composition/interpret.h"
#include "ops/quantized/quantize_linear.h"

namespace narrowgauge::onnx {

namespace {

constexpr std::int64_t few_elements = 65536;

bool are_constants(const narrowgauge::Graph& graph, const Values& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](Value value) { return value.is_absent() || graph.constant_value(value); });
}

std::int64_t output_elements(const narrowgauge::Node& node) {
  std::int64_t elements = 0;
  for (const narrowgauge::ValueInfo& output : node.outputs)
    elements += element_count(known_dims(output.type.shape));
  return elements;
}

// Weights that passes take as bytes.
bool dequantizes_weights(const narrowgauge::Graph& graph, const narrowgauge::Node& node) {
  if (!node.is<DequantizeLinear>()) return false;
  const TensorType& x = graph.type(node.inputs[0]);
  return x.shape.size() >= 2 && (x.dtype == DType::u8 || x.dtype == DType::i8);
}

}  // namespace

Values folded(narrowgauge::Graph& graph, int index, bool everything) {
  const narrowgauge::Node node = graph.node(index);
  Values values;
  for (const auto& [o, output] : enumerate(node.outputs)) values.push_back({index, o});
  if (is_source(node) || node.op->kernels().empty()) return values;
  if (are_constants(graph, node.inputs) && (everything || !is_random(node))) {
    const bool few = output_elements(node) <= few_elements;
    const bool stays = !few || node.inputs.empty() || dequantizes_weights(graph, node);
    if (!everything && stays) return values;
    const std::vector<Tensor> results = interpret_node(graph, node, {.reference = few});
    for (std::size_t o = 0; o < results.size(); ++o) values[o] = graph.constant(results[o]);
    return values;
  }
  for (Value& value : values)
    if (const std::optional<Tensor> known = graph.known_numbers(value))
      value = graph.constant(*known);
  return values;
}

}  // namespace narrowgauge::onnx
