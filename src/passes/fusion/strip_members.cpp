// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/strip_members.h"

#include <algorithm>

#include "ops/pointwise/cast.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

bool is_strip_dtype(DType dtype) {
  return dtype == DType::boolean ||
         (is_floating(dtype) && dtype != DType::f64 && !is_storage_only(dtype));
}

// These casts saturate; RoundTo, which replaces a Cast inside a group, would give infinities.
bool is_saturating_cast(const Node& node) {
  if (!node.is<Cast>()) return false;
  const Cast& cast = node.as<Cast>();
  return cast.saturate != 0 && is_floating(cast.to) && bits(cast.to) == 8;
}

bool are_known(const Graph& graph, const QuantizedValue& steps) {
  const auto known = [&](Value value) { return graph.constant_value(value) != nullptr; };
  return known(steps.scale) && (steps.zero.is_absent() || known(steps.zero));
}

}  // namespace

bool dequantizes_in_strips(const Graph& graph, const Node& node) {
  if (!node.is<DequantizeLinear>()) return false;
  const Value value{static_cast<int>(&node - graph.nodes().data()), 0};
  const auto found = dequantized(graph, value);
  return found && are_known(graph, *found);
}

bool quantizes_in_strips(const Graph& graph, const Node& node) {
  const auto found = quantization(graph, node);
  return found && are_known(graph, *found);
}

bool runs_in_strips(const Graph& graph, const Node& node) {
  if (dequantizes_in_strips(graph, node) || quantizes_in_strips(graph, node)) return true;
  if (!node.op->elementwise || node.op->info.random || node.outputs.size() != 1) return false;
  if (is_saturating_cast(node)) return false;
  if (!is_strip_dtype(node.outputs[0].type.dtype)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value value) {
    return value.is_absent() || is_strip_dtype(graph.type(value).dtype);
  });
}

bool same_place(const ValueInfo& a, const ValueInfo& b) {
  return a.type.shape == b.type.shape && a.storage == b.storage;
}

}  // namespace narrowgauge
