// SPDX-License-Identifier: Apache-2.0
// Ops on quantised values that ONNX Runtime has beside ONNX's (com.microsoft.QLinearAdd, QGemm,
// ...): what they say is to dequantise, compute and quantise, and passes make integer ops of that.
#include "io/onnx/import/attributes.h"
#include "io/onnx/import/handlers.h"
#include "narrowgauge/graph.h"
#include "ops/activation/linear_units.h"
#include "ops/activation/sigmoid.h"
#include "ops/math/gemm.h"
#include "ops/nn/softmax.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/where.h"
#include "ops/pool/average_pool.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/concat.h"

namespace narrowgauge::onnx {

namespace {

// A value with its scale and zero point, the inputs from `first` on.
Value dequantized(NodeImport& node, int first, std::int64_t axis = 1) {
  return node.add(DequantizeLinear{.axis = axis},
                  {node.needed(first), node.value(first + 1, true), node.value(first + 2, true)});
}

// Quantizes y with the scale and zero point that are the inputs from `scale` on.
Items quantized(NodeImport& node, Value y, int scale) {
  return {Item::of(
      node.add(QuantizeLinear{}, {y, node.value(scale, true), node.value(scale + 1, true)}))};
}

// Adds the op with the attributes of the node.
template <Op T>
Value add_like(NodeImport& node, const Values& inputs) {
  return node.add(record_of<T>(), attributes_of(record_of<T>(), node.node()), inputs).at(0);
}

void refuse_channels_last(NodeImport& node) {
  require<ModelError>(node.take<std::int64_t>("channels_last").value_or(0) == 0,
                      "channels_last is not supported");
}

template <Op T>
Items of_two(NodeImport& node) {
  return quantized(node, node.add(T{}, {dequantized(node, 0), dequantized(node, 3)}), 6);
}

template <Op T>
Items of_one(NodeImport& node) {
  return quantized(node, add_like<T>(node, {dequantized(node, 0)}), 3);
}

template <Op T>
Items pooled(NodeImport& node) {
  refuse_channels_last(node);
  return of_one<T>(node);
}

Items softmax(NodeImport& node) {
  const std::int64_t opset = node.take<std::int64_t>("opset").value_or(13);
  require<ModelError>(opset >= 13, "a Softmax of opset ", opset, " is not supported");
  return of_one<Softmax>(node);
}

Items joined(NodeImport& node) {
  Values parts;
  for (int i = 2; i < node.input_count(); i += 3) parts.push_back(dequantized(node, i));
  return quantized(node, add_like<Concat>(node, parts), 0);
}

Items chosen(NodeImport& node) {
  const Value y = node.add(Where{}, {node.needed(0), dequantized(node, 1), dequantized(node, 4)});
  return quantized(node, y, 7);
}

// The bias has the scale alpha a_scale b_scale.
Value bias_of_gemm(NodeImport& node, double alpha) {
  if (!node.has_input(6)) return absent;
  Value scale = node.add(Mul{}, {node.value(1, true), node.value(4, true)});
  if (alpha != 1)
    scale = node.add(Mul{}, {scale, node.constant(Tensor::scalar(DType::f32, alpha))});
  return node.add(DequantizeLinear{.axis = 0}, {node.value(6, true), scale});
}

Items gemm(NodeImport& node) {
  Gemm op;
  op.transA = node.take<std::int64_t>("transA").value_or(0);
  op.transB = node.take<std::int64_t>("transB").value_or(0);
  op.alpha = double{node.take<float>("alpha").value_or(1)};
  const Value a = dequantized(node, 0), b = dequantized(node, 3, op.transB != 0 ? 0 : 1);
  const Value y = node.add(op, {a, b, bias_of_gemm(node, op.alpha)});
  if (!node.has_input(7)) return {Item::of(y)};
  return quantized(node, y, 7);
}

Items quantize(NodeImport& node) {
  const Values inputs{node.needed(0), node.value(1, true), node.value(2, true)};
  return {Item::of(add_like<QuantizeLinear>(node, inputs))};
}

Items dequantize(NodeImport& node) {
  const Values inputs{node.needed(0), node.value(1, true), node.value(2, true)};
  return {Item::of(add_like<DequantizeLinear>(node, inputs))};
}

constexpr std::string_view whole = "whole numbers";
constexpr NamedHandler handlers[] = {
    {"com.microsoft.QLinearAdd", of_two<Add>, whole},
    {"com.microsoft.QLinearMul", of_two<Mul>, whole},
    {"com.microsoft.QLinearWhere", chosen, whole},
    {"com.microsoft.QLinearConcat", joined, whole},
    {"com.microsoft.QLinearLeakyRelu", of_one<LeakyRelu>, whole},
    {"com.microsoft.QLinearSigmoid", of_one<Sigmoid>, whole},
    {"com.microsoft.QLinearSoftmax", softmax, whole},
    {"com.microsoft.QLinearAveragePool", pooled<AveragePool>, whole},
    {"com.microsoft.QLinearGlobalAveragePool", pooled<GlobalAveragePool>, whole},
    {"com.microsoft.QGemm", gemm, whole},
    {"com.microsoft.QuantizeLinear", quantize, whole},
    {"com.microsoft.DequantizeLinear", dequantize, whole},
};

}  // namespace

std::span<const NamedHandler> quantized_handlers() { return handlers; }

}  // namespace narrowgauge::onnx
