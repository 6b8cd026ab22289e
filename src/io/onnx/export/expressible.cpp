// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export/expressible.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enumerate.h"
#include "io/onnx/export/plain_sizes.h"
#include "ops/activation/thresholds.h"
#include "ops/axes/axes.h"
#include "ops/composition/composite.h"
#include "ops/math/matmul.h"
#include "ops/nn/attention.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/lp_normalization.h"
#include "ops/normalization/rms_normalization.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/round_to.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/broadcast_gradient.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "passes/core/parts.h"
#include "passes/core/rebuild.h"
#include "passes/simplify/remove_dead_code.h"

namespace narrowgauge::onnx {

namespace {

using Decompose = decltype(OpRecord::decompose);

Value cast(Rewriting& r, Value value, DType to) {
  return value.is_absent() || r.type(value).dtype == to ? value : r.add(Cast{.to = to}, {value});
}

// Scores and shares are f32, as in the registers of attention's kernels.
Values parts_of_attention(const void* attributes, Rewriting& r) {
  const DType dtype = r.type(r.input(0)).dtype;
  const DType wide = dtype == DType::f64 ? dtype : DType::f32;
  Values inputs;
  for (int i = 0; i < r.input_count(); ++i)
    inputs.push_back(i < 3 ? cast(r, r.input(i), wide) : r.input(i));
  Rewriting inner(r.graph(), inputs, {});
  Values made = static_cast<const Attention*>(attributes)->decompose(inner);
  made[0] = cast(r, made[0], dtype);
  return made;
}

// ONNX has one dtype for input, scale and bias; here the latter stay f32 beside a narrow input.
Values layer_normalization_in_dtype_of_scale(const void* attributes, Rewriting& r) {
  const DType dtype = r.type(r.input(0)).dtype, wide = r.type(r.input(1)).dtype;
  const Value made = r.add(*static_cast<const LayerNormalization*>(attributes),
                           {cast(r, r.input(0), wide), r.input(1), r.input(2)});
  return {cast(r, made, dtype), {made.node, 1}, {made.node, 2}};
}

Values shrink_in_f32(const void* attributes, Rewriting& r) {
  const Value wide = cast(r, r.input(0), DType::f32);
  return {
      cast(r, r.add(*static_cast<const Shrink*>(attributes), {wide}), r.type(r.input(0)).dtype)};
}

Values round_by_casts(const void* attributes, Rewriting& r) {
  const DType narrow = static_cast<const RoundTo*>(attributes)->dtype;
  return {cast(r, cast(r, r.input(0), narrow), r.type(r.input(0)).dtype)};
}

Value transposed(Rewriting& r, Value matrix, bool wanted) {
  if (!wanted) return matrix;
  Dims perm(r.shape(matrix).size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return r.add(Transpose{.perm = perm}, {matrix});
}

Values matmul_of_transposed(const void* attributes, Rewriting& r) {
  const auto& op = *static_cast<const FusedMatMul*>(attributes);
  return {r.add(MatMul{},
                {transposed(r, r.input(0), op.transA), transposed(r, r.input(1), op.transB)})};
}

Values sum_by_axes(const void* attributes, Rewriting& r) {
  const Shape& target = static_cast<const BroadcastGradient*>(attributes)->shape;
  const auto new_axes = std::ssize(r.shape(r.input(0))) - std::ssize(target);
  Dims axes;
  for (const auto& [axis, dim] : enumerate(r.shape(r.input(0))))
    if (axis < new_axes || *(target.begin() + (axis - new_axes)) != dim) axes.push_back(axis);
  Value sum = r.input(0);
  if (!axes.empty()) sum = r.add(ReduceSum{}, {sum, r.constant(list_of(axes))});
  return {r.add(ReshapeTo{target}, {sum})};
}

struct OpDecompose {
  std::string_view op;
  Decompose decompose;
};
constexpr OpDecompose decompositions[] = {{"ng.Attention", parts_of_attention},
                                          {"ng.BroadcastGradient", sum_by_axes},
                                          {"ng.FusedMatMul", matmul_of_transposed},
                                          {"ng.RoundTo", round_by_casts}};

// How to decompose a node of dtypes that ONNX's op, or the function by which ONNX defines it, does
// not take; nullptr for others.
Decompose decompose_for_dtypes(const narrowgauge::Graph& graph, const narrowgauge::Node& node) {
  const auto dtype = [&](int input) { return graph.type(node.input(input)).dtype; };
  if (node.is<LayerNormalization>() && dtype(0) != dtype(1))
    return layer_normalization_in_dtype_of_scale;
  if (node.is<RMSNormalization>() && dtype(0) != dtype(1)) return node.op->decompose;
  if (node.is<MeanVarianceNormalization>() && dtype(0) != DType::f32) return node.op->decompose;
  if (node.is<Shrink>() && dtype(0) == DType::bf16) return shrink_in_f32;
  return nullptr;
}

// How to say the node by other ops; nullptr where it is to stay.
Decompose decompose_of(const narrowgauge::Graph& graph, const narrowgauge::Node& node) {
  if (const Decompose found = decompose_for_dtypes(graph, node)) return found;
  for (const OpDecompose& entry : decompositions)
    if (entry.op == node.op->full_name()) return entry.decompose;
  return node.op->info.domain.empty() ? nullptr : node.op->decompose;
}

void add_parts(Rebuild& rebuild, int index, Decompose decompose) {
  const narrowgauge::Node& node = rebuild.source().node(index);
  OpRecord op = *node.op;
  op.decompose = decompose;
  std::vector<PartInput> inputs;
  for (const Value& value : node.inputs) {
    inputs.emplace_back();
    if (value.is_absent()) continue;
    inputs.back() = {rebuild.source().type(value), rebuild.source().constant_value(value)};
  }
  const Parts parts = parts_of(op, node.attributes, inputs);
  narrowgauge::add_parts(rebuild, index, parts.graph, parts.inputs, node.math);
}

// Parts may have parts again.
narrowgauge::Graph in_parts(narrowgauge::Graph graph) {
  const auto has_parts = [&](const narrowgauge::Node& node) { return decompose_of(graph, node); };
  while (std::ranges::any_of(graph.nodes(), has_parts)) {
    Rebuild rebuild(graph);
    for (const auto& [i, node] : enumerate(graph.nodes()))
      if (const Decompose decompose = decompose_of(graph, node))
        add_parts(rebuild, i, decompose);
      else
        rebuild.copy(i);
    graph = rebuild.finish();
  }
  return graph;
}

narrowgauge::Graph with_regions_expressible(const narrowgauge::Graph& graph) {
  Rebuild rebuild(graph);
  for (const auto& [i, node] : enumerate(graph.nodes()))
    rebuild.copy(i, with_regions(node, expressible), rebuild.mapped(node.inputs));
  return rebuild.finish();
}

}  // namespace

narrowgauge::Graph expressible(const narrowgauge::Graph& graph) {
  return with_regions_expressible(remove_dead_code(with_plain_sizes(in_parts(graph))));
}

}  // namespace narrowgauge::onnx
