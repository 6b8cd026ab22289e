// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/quantized_values.h"

#include <algorithm>

#include "ops/axes/axes.h"
#include "ops/pointwise/cast.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/operands.h"

namespace narrowgauge {

namespace {

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

}  // namespace

bool only_predicts(const Graph& graph) {
  return std::ranges::all_of(graph.nodes(),
                             [](const Node& node) { return node.phase == Phase::forward; }) &&
         std::ranges::all_of(graph.states(),
                             [](const State& state) { return state.next == state.current; });
}

namespace {

bool lasts(const Graph& graph, Value value, int depth) {
  if (is_lasting(graph, value)) return true;
  const Node& node = graph.producer(value);
  return depth > 0 && !is_source(node) && !node.inputs.empty() && !node.op->info.random &&
         std::ranges::all_of(node.inputs, [&](Value input) {
           return input.is_absent() || lasts(graph, input, depth - 1);
         });
}

}  // namespace

bool lasts(const Graph& graph, Value value) {
  constexpr int few = 8;  // nodes one behind the other: weights that are quantised, and scales
  return lasts(graph, value, few);
}

Value before_float_casts(const Graph& graph, Value value) {
  const auto is_wide = [](DType dtype) { return is_floating(dtype) && bits(dtype) >= 16; };
  for (;;) {
    const Node& node = graph.producer(value);
    if (!node.is<Cast>() || !is_wide(node.as<Cast>().to) ||
        !is_wide(graph.type(node.inputs[0]).dtype))
      return value;
    value = node.inputs[0];
  }
}

std::optional<QuantizedValue> dequantized(const Graph& graph, Value value, int* axis) {
  if (value.is_absent()) return {};
  const Node& node = graph.producer(before_float_casts(graph, value));
  if (!node.is<DequantizeLinear>() || node.outputs[0].type.dtype != DType::f32) return {};
  const auto& op = node.as<DequantizeLinear>();
  const Value x = node.inputs[0], scale = node.inputs[1];
  if (!is_byte(graph.type(x).dtype) || graph.type(scale).dtype != DType::f32) return {};
  if (op.block_size != 0) return {};
  *axis = -1;
  if (!is_one(graph.type(scale).shape)) {
    const auto rank = static_cast<std::int64_t>(graph.type(x).shape.size());
    *axis = static_cast<int>(op.axis < 0 ? op.axis + rank : op.axis);
  }
  return QuantizedValue{x, scale, input_or_absent(node, 2)};
}

std::optional<QuantizedValue> dequantized(const Graph& graph, Value value) {
  int axis = -1;
  auto found = dequantized(graph, value, &axis);
  return axis < 0 ? found : std::nullopt;
}

std::optional<double> zero_point(const Graph& graph, Value zero) {
  if (zero.is_absent()) return 0;
  const Tensor* const known = graph.constant_value(zero);
  if (!known || known->size() == 0) return {};
  for (std::int64_t i = 1; i < known->size(); ++i)
    if (known->at(i) != known->at(0)) return {};
  return known->at(0);
}

std::optional<QuantizedValue> quantization(const Graph& graph, const Node& node) {
  if (!node.is<QuantizeLinear>() || !is_byte(node.outputs[0].type.dtype)) return {};
  const auto& op = node.as<QuantizeLinear>();
  const Value x = node.inputs[0], scale = node.inputs[1];
  const DType dtype = graph.type(x).dtype;
  if (!is_floating(dtype) || bits(dtype) > 32 || op.block_size != 0) return {};
  if (graph.type(scale).dtype != DType::f32 || !is_one(graph.type(scale).shape)) return {};
  const Tensor* const known = graph.constant_value(scale);
  if (known && !(known->at(0) > 0)) return {};
  return QuantizedValue{x, scale, input_or_absent(node, 2)};
}

}  // namespace narrowgauge
