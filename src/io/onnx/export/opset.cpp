// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export/opset.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace narrowgauge::onnx {

namespace {

// The opset since which an op exists, takes a dtype, has an attribute or so many inputs.
struct Since {
  std::string_view op;
  std::int64_t opset = 0;
  std::optional<DType> dtype = {};
  std::string_view attribute = "";
  std::size_t inputs = 0;
};

constexpr Since op_opsets[] = {
    {"Attention", 23},
    {"Attention", 24, {}, "", 7},
    {"Attention", 25, {}, "left_window_size"},
    {"Attention", 25, {}, "right_window_size"},
    {"BitCast", 26},
    {"BitShift", 28, DType::i8},
    {"BitShift", 28, DType::i16},
    {"BitShift", 28, DType::i32},
    {"BitShift", 28, DType::i64},
    {"Cast", 24, {}, "round_mode"},
    {"CastLike", 24, {}, "round_mode"},
    {"CausalConvWithState", 27},
    {"Celu", 28, DType::bf16},
    {"Celu", 28, DType::f16},
    {"CumProd", 26},
    {"DequantizeLinear", 23, {}, "output_dtype"},
    {"Einsum", 28, DType::bf16},
    {"LinearAttention", 27},
    {"OneHot", 28, DType::bf16},
    {"RMSNormalization", 23},
    {"Range", 27, DType::bf16},
    {"Range", 27, DType::f16},
    {"ReverseSequence", 28, DType::bf16},
    {"RotaryEmbedding", 23},
    {"SwiGLU", 28},
    {"Swish", 24},
    {"TensorScatter", 24},
    {"TopK", 24, DType::bf16},
};

// Ops that take bf16 since opset 22.
constexpr std::string_view bf16_since_22[] = {"Acos",
                                              "Acosh",
                                              "Asin",
                                              "Asinh",
                                              "Atan",
                                              "Atanh",
                                              "AveragePool",
                                              "Conv",
                                              "ConvTranspose",
                                              "Cos",
                                              "Cosh",
                                              "DeformConv",
                                              "Det",
                                              "Dropout",
                                              "Elu",
                                              "EyeLike",
                                              "GRU",
                                              "GlobalAveragePool",
                                              "GridSample",
                                              "HardSigmoid",
                                              "GlobalMaxPool",
                                              "HardSwish",
                                              "LSTM",
                                              "InstanceNormalization",
                                              "LpPool",
                                              "MaxPool",
                                              "LpNormalization",
                                              "MaxUnpool",
                                              "Mish",
                                              "NegativeLogLikelihoodLoss",
                                              "RNN",
                                              "RoiAlign",
                                              "Round",
                                              "Selu",
                                              "Sin",
                                              "Sinh",
                                              "Softplus",
                                              "Softsign",
                                              "Tan",
                                              "ThresholdedRelu"};

bool applies(const Since& since, const Node& node, const std::vector<DType>& dtypes) {
  return since.op == node.op_type && (!since.dtype || std::ranges::count(dtypes, *since.dtype)) &&
         (since.attribute.empty() || node.find(since.attribute)) &&
         node.inputs.size() >= since.inputs;
}

// The opset since which any op takes a dtype.
std::int64_t opset_of(DType dtype) {
  if (dtype == DType::f4e2m1) return 23;
  return dtype == DType::f8e8m0 ? 24 : oldest_written_opset;
}

}  // namespace

std::int64_t opset_for(const Node& node, const std::vector<DType>& dtypes) {
  std::int64_t opset = oldest_written_opset;
  for (const Since& since : op_opsets)
    if (applies(since, node, dtypes)) opset = std::max(opset, since.opset);
  if (std::ranges::count(dtypes, DType::bf16) && std::ranges::count(bf16_since_22, node.op_type))
    opset = std::max<std::int64_t>(opset, 22);
  for (const DType dtype : dtypes) opset = std::max(opset, opset_of(dtype));
  return opset;
}

std::int64_t ir_version_for(std::int64_t opset) {
  if (opset <= 22) return 10;
  if (opset == 23) return 11;
  if (opset == 24) return 12;
  return opset <= 27 ? 13 : 14;
}

}  // namespace narrowgauge::onnx
