// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/expand_quantized.h"

#include "base/enumerate.h"
#include "ops/axes/axes.h"
#include "ops/convolution/conv.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/quantized/conv_integer.h"
#include "ops/quantized/matmul_integer.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

// The inputs of QLinearConv and QLinearMatMul.
enum LinearPort : std::size_t { x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias };

class QuantizedParts {
 public:
  QuantizedParts(Rebuild& rebuild, const Node& node)
      : graph_(rebuild.graph()), node_(node), inputs_(rebuild.mapped(node.inputs)) {}

  Value at(LinearPort port) const { return port < inputs_.size() ? inputs_[port] : absent; }
  const Shape& shape(LinearPort port) const { return graph_.type(at(port)).shape; }

  template <Op T>
  Value add(T op, Values inputs, std::string_view part) {
    NodeOptions options = options_of(node_);
    options.storages.clear();
    if (part != "") options.name = graph_.unique_name(concat(node_.name, '.', part));
    if (part != "" && options.origin.empty()) options.origin = node_.full_name();
    return graph_.add(std::move(op), std::move(inputs), std::move(options));
  }
  Value dequantized(LinearPort port, std::int64_t axis, std::string_view part) {
    const Values inputs{at(port), at(LinearPort(port + 1)), at(LinearPort(port + 2))};
    return add(DequantizeLinear{.axis = axis}, inputs, part);
  }
  Value dequantized_bias() {
    if (at(bias).is_absent()) return absent;
    const Value scale = add(Mul{}, {at(w_scale), at(x_scale)}, "bias_scale");
    return add(DequantizeLinear{.axis = 0}, {at(bias), scale}, "bias");
  }
  Value quantized(Value y) { return add(QuantizeLinear{}, {y, at(y_scale), at(y_zero)}, ""); }

 private:
  Graph& graph_;
  const Node& node_;
  Values inputs_;
};

bool is_single(const Shape& shape) { return shape.size() <= 1 && is_one(shape); }

// Whether DequantizeLinear takes the scale and zero point of a port, one for all or, for w, a list.
bool is_said(const Graph& graph, const Node& node, LinearPort port, bool list) {
  const Shape &scale = graph.type(node.inputs[port + 1]).shape,
              &zero = graph.type(node.inputs[port + 2]).shape;
  if (graph.type(node.inputs[port + 1]).dtype != DType::f32) return false;
  if (is_single(scale)) return is_single(zero);
  return list && scale.size() == 1 && zero == scale;
}

bool may_be_expanded(const Graph& graph, const Node& node) {
  if (!node.is<QLinearConv>() && !node.is<QLinearMatMul>()) return false;
  if (node.is<QLinearMatMul>() && graph.type(node.inputs[w]).shape.size() != 2) return false;
  const Shape& y = graph.type(node.inputs[y_scale]).shape;
  return lasts(graph, node.inputs[w]) && is_said(graph, node, x, false) &&
         is_said(graph, node, w, true) && is_single(y) &&
         is_single(graph.type(node.inputs[y_zero]).shape);
}

void expand(Rebuild& rebuild, int index, const Node& node) {
  QuantizedParts parts(rebuild, node);
  if (node.is<QLinearMatMul>()) {
    const Value left = parts.dequantized(x, 1, "x"), right = parts.dequantized(w, 1, "w");
    const Value y = parts.add(MatMul{}, {left, right}, "product");
    rebuild.map({index, 0}, parts.quantized(y));
    return;
  }
  const auto& op = node.as<QLinearConv>();
  const Conv conv{op.auto_pad, op.dilations, op.group, op.kernel_shape, op.pads, op.strides};
  const Value image = parts.dequantized(x, 1, "x"), weights = parts.dequantized(w, 0, "w");
  const Value y = parts.add(conv, {image, weights, parts.dequantized_bias()}, "convolution");
  rebuild.map({index, 0}, parts.quantized(y));
}

}  // namespace

Graph expand_quantized(const Graph& graph) {
  Rebuild rebuild(graph);
  for (const auto& [i, node] : enumerate(graph.nodes()))
    if (may_be_expanded(graph, node))
      expand(rebuild, i, node);
    else
      rebuild.copy(i);
  return rebuild.finish();
}

}  // namespace narrowgauge
