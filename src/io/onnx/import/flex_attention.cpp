// SPDX-License-Identifier: Apache-2.0
// ai.onnx.preview.FlexAttention: attention whose scores and shares two graphs inside it may change.
// With k and v of a head for each group of neighbouring heads of q: y = prob_mod(softmax(
// score_mod(scale q k^T))) v.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/onnx/import/handlers.h"
#include "io/onnx/import/importer.h"
#include "io/onnx/import/types.h"
#include "ops/math/matmul.h"
#include "ops/nn/softmax.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/in_dtype.h"
#include "ops/shape/reshape.h"

namespace narrowgauge::onnx {

namespace {

struct Heads {
  Shape q, k, v;
  // The heads of q that share one of k, one below the other.
  Shape grouped(const Dim& columns) const { return {q[0], k[1], q[2] * (q[1] / k[1]), columns}; }
};

Heads heads_of(NodeImport& node) {
  for (const int input : {0, 1, 2})
    require<ModelError>(node.has_input(input) && node.type(input).dtype == node.type(0).dtype,
                        "expected q, k and v of one format");
  const Heads heads{node.type(0).shape, node.type(1).shape, node.type(2).shape};
  const auto& [q, k, v] = heads;
  const bool ranks = q.size() == 4 && k.size() == 4 && v.size() == 4;
  const bool known = ranks && q[1].is_known() && k[1].is_known() && q[3].is_known();
  require<ModelError>(known && k[1].value() > 0 && q[1].value() % k[1].value() == 0 &&
                          q[3].value() > 0 && k[0] == q[0] && v[0] == q[0] && v[1] == k[1] &&
                          v[2] == k[2] && k[3] == q[3],
                      "expected q [N,heads,T,width], k and v [N,heads/groups,S,width], got ", q,
                      ", ", k, " and ", v);
  return heads;
}

Value cast(NodeImport& node, Value value, DType dtype) {
  if (node.graph().type(value).dtype == dtype) return value;
  return node.add(Cast{.to = dtype}, {value});
}

// The value as the graph of the attribute, where there is one, changes it.
Value modified(NodeImport& node, std::string_view attribute, Value value) {
  const auto* const found = node.node().get<Box<Graph>>(attribute);
  if (!found) return value;
  const Graph& graph = **found;
  require<ModelError>(graph.inputs.size() == 1 && graph.outputs.size() == 1, "the graph ",
                      attribute, " must have one input and one output");
  Scope scope(node.graph(), &node.scope(), Scope::Outer::same_graph);
  scope.set(graph.inputs[0].name, Item::of(value));
  const Value made = node.importer().add_graph(graph, attribute, scope).at(0).value;
  require<ModelError>(!made.is_absent() && node.graph().type(made) == node.graph().type(value),
                      "the graph ", attribute, " must give a tensor ", node.graph().type(value));
  return made;
}

// A share of the scale on both sides keeps f16 within its range.
Value scaled(NodeImport& node, Value value, double scale) {
  const DType dtype = node.graph().type(value).dtype;
  return node.add(Mul{}, {value, node.constant(Tensor::scalar(dtype, std::sqrt(scale)))});
}

Items flex_attention(NodeImport& node) {
  const Heads heads = heads_of(node);
  const DType dtype = node.type(0).dtype;
  const auto width = static_cast<double>(heads.q[3].value());
  const double scale = node.take<float>("scale").value_or(1 / std::sqrt(width));
  require<ModelError>(scale >= 0 && std::isfinite(scale), "scale must not be negative, got ",
                      scale);
  const auto precision = node.take<std::int64_t>("softmax_precision");
  const DType inner =
      precision ? dtype_of(static_cast<DataType>(*precision)) : statistics_dtype(dtype);
  require<ModelError>(is_floating(inner) && !is_storage_only(inner),
                      "softmax_precision must be a floating type, got ", inner);

  const Value q = node.add(ReshapeTo{heads.grouped(heads.q[3])}, {node.value(0)});
  const Value products = node.add(FusedMatMul{false, true},
                                  {scaled(node, q, scale), scaled(node, node.value(1), scale)});
  const Shape scores{heads.q[0], heads.q[1], heads.q[2], heads.k[2]};
  const Value apart = cast(node, node.add(ReshapeTo{scores}, {products}), inner);
  const Value shares = node.add(Softmax{}, {modified(node, "score_mod", apart)});
  const Value rows =
      node.add(ReshapeTo{heads.grouped(heads.k[2])}, {modified(node, "prob_mod", shares)});
  const Value mixed = node.add(MatMul{}, {rows, cast(node, node.value(2), inner)});
  const Shape y{heads.q[0], heads.q[1], heads.q[2], heads.v[3]};
  return {Item::of(cast(node, node.add(ReshapeTo{y}, {mixed}), dtype))};
}

constexpr NamedHandler flex_attention_table[] = {{"ai.onnx.preview.FlexAttention", flex_attention}};

}  // namespace

std::span<const NamedHandler> attention_handlers() { return flex_attention_table; }

}  // namespace narrowgauge::onnx
