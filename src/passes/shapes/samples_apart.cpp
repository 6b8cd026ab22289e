// SPDX-License-Identifier: Apache-2.0
#include "passes/shapes/samples_apart.h"

#include <algorithm>

#include "ir/readers.h"
#include "ops/convolution/conv.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"
#include "ops/nn/softmax.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/pointwise/cast.h"
#include "ops/pool/average_pool.h"
#include "ops/pool/max_pool.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/shape/concat.h"
#include "ops/shape/transpose.h"
#include "ops/shape/views.h"

namespace narrowgauge {

namespace {

template <class... Ops>
bool is_one_of(const Node& node) {
  return (node.is<Ops>() || ...);
}

class Samples {
 public:
  Samples(const Graph& graph, std::string_view symbol)
      : graph_(graph), readers_(graph), symbol_(symbol) {}

  bool are_apart() const {
    for (const Value input : graph_.inputs())
      if (!are_in(input)) return false;
    for (const GraphOutput& output : graph_.outputs())
      if (!are_in(output.value)) return false;
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (!is_source(graph_.node(i)) && !keeps_apart(i)) return false;
    return true;
  }

 private:
  // Whether the value is a list of samples.
  bool are_in(Value value) const {
    const Shape& shape = graph_.type(value).shape;
    return !shape.empty() && shape[0].text() == symbol_ &&
           std::none_of(shape.begin() + 1, shape.end(),
                        [&](const Dim& dim) { return depends_on_batch(dim); });
  }
  bool depends_on_batch(const Dim& dim) const {
    return !dim.is_known() && dim.text().find(symbol_) != std::string::npos;
  }
  bool is_free_of(Value value) const {
    return value.is_absent() || std::ranges::none_of(graph_.type(value).shape, [&](const Dim& dim) {
             return depends_on_batch(dim);
           });
  }
  bool is_read(Value value) const { return !readers_.of(value).empty() || readers_.leaves(value); }

  bool keeps_apart(int index) const {
    const Node& node = graph_.node(index);
    const auto is_free = [&](Value value) { return is_free_of(value); };
    const bool takes_samples = !std::ranges::all_of(node.inputs, is_free);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      const Value output{index, o};
      if (!is_read(output)) continue;
      if (takes_samples ? !are_in(output) : !is_free_of(output)) return false;
      if (takes_samples && o > 0) return false;  // as the indices of maxima in the whole batch
    }
    if (!takes_samples) return true;
    if (node.op->info.random) return false;
    if (node.op->info.fusion == Fusion::elementwise) return aligned(node);
    if (node.is<Concat>()) return node.as<Concat>().axis > 0 && aligned(node);
    // The others take one operand that has samples.
    return are_in(node.inputs[0]) &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(), is_free) && goes_apart(node);
  }

  // Whether samples of all operands meet those of the same place.
  bool aligned(const Node& node) const {
    const std::size_t rank = node.outputs[0].type.shape.size();
    return std::ranges::all_of(node.inputs, [&](Value value) {
      return is_free_of(value) || (are_in(value) && graph_.type(value).shape.size() == rank);
    });
  }

  // Whether a node with samples before and after keeps them apart: a view or transposition then
  // leaves them in their order.
  bool goes_apart(const Node& node) const {
    if (node.is<Gemm>()) return node.as<Gemm>().transA == 0;
    const std::size_t rank = graph_.type(node.inputs[0]).shape.size();
    if (node.is<MatMul>()) return rank > 1 && graph_.type(node.inputs[1]).shape.size() == 2;
    if (node.is<Softmax>()) {
      const std::int64_t axis = node.as<Softmax>().axis;
      return rank > 1 && (axis == -1 || axis > 0);
    }
    if (node.is<BatchNormalization>()) return node.as<BatchNormalization>().training_mode == 0;
    return is_one_of<Conv, MaxPool, AveragePool, GlobalAveragePool, QuantizeLinear,
                     DequantizeLinear, Reshape, Flatten, Transpose, Identity>(node);
  }

  const Graph& graph_;
  Readers readers_;
  std::string symbol_;
};

}  // namespace

bool keeps_samples_apart(const Graph& graph, std::string_view symbol) {
  return Samples(graph, symbol).are_apart();
}

}  // namespace narrowgauge
