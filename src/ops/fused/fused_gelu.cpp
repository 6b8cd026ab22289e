// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_gelu.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kernels/cpu/tiles/tile_gemm.h"
#include "ops/activation/gelu.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_body.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/gemm.h"
#include "ops/offers/contraction.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

using cpu::TileActivation;

// The indices of the group's operands by their part in the pattern; -1: none. `product` is a node.
struct Pattern {
  int product = -1;
  int a = -1, b = -1, bias = -1, x = -1;
  int y = -1, kept = -1, sums = -1;
  TileActivation activation = TileActivation::none;
};

// The nodes of a chain from the product on. Every step takes the previous value, or that value in
// another shape.
class Chain {
 public:
  explicit Chain(const Graph& body) : body_(body), nodes_(working_nodes(body)) {}

  bool empty() const { return at_ == nodes_.size(); }
  // Takes the next node if it is an Op; -1 if not.
  template <class Op>
  int take() {
    if (empty() || !body_.node(nodes_[at_]).is<Op>()) return -1;
    return nodes_[at_++];
  }
  // `value` after the next node, if that reshapes it; else `value` itself.
  Value reshaped(Value value) {
    if (empty() || !body_.node(nodes_[at_]).is<ReshapeTo>()) return value;
    if (!(body_.node(nodes_[at_]).inputs[0] == value)) return value;
    return {nodes_[at_++], 0};
  }

 private:
  const Graph& body_;
  std::vector<int> nodes_;
  std::size_t at_ = 0;
};

// The output that is one of two values, the second being the first in another shape; -1 if neither
// or both are outputs.
int one_output(const Graph& body, Value first, Value second) {
  const int one = output_index(body, first), other = output_index(body, second);
  if (first == second) return one;
  return one >= 0 && other >= 0 ? -1 : std::max(one, other);
}

bool take_product(const Graph& body, int node, Pattern& found) {
  if (node < 0) return false;
  const Node& product = body.node(node);
  const bool biased = product.inputs.size() > 2 && !product.inputs[2].is_absent();
  found.product = node;
  found.a = input_index(body, product.inputs[0]);
  found.b = input_index(body, product.inputs[1]);
  if (biased) found.bias = input_index(body, product.inputs[2]);
  return found.a >= 0 && found.b >= 0 && (!biased || found.bias >= 0);
}

std::optional<Pattern> match_forward(const Graph& body) {
  Pattern found{.activation = TileActivation::gelu};
  Chain chain(body);
  if (!take_product(body, chain.take<Gemm>(), found)) return {};
  const Value product{found.product, 0}, sum = chain.reshaped(product);
  const int gelu = chain.take<Gelu>();
  if (gelu < 0 || !chain.empty() || !(body.node(gelu).inputs[0] == sum) ||
      body.node(gelu).as<Gelu>().approximate != "none")
    return {};
  found.y = output_index(body, {gelu, 0});
  found.kept = one_output(body, product, sum);
  const std::size_t outputs = found.kept < 0 ? 1 : 2;
  return found.y >= 0 && body.outputs().size() == outputs ? std::optional(found) : std::nullopt;
}

std::optional<Pattern> match_backward(const Graph& body) {
  Pattern found{.activation = TileActivation::gelu_gradient};
  Chain chain(body);
  if (!take_product(body, chain.take<Gemm>(), found)) return {};
  const Value dy = chain.reshaped({found.product, 0});
  const int node = chain.take<GeluGradient>();
  if (node < 0 || !(body.node(node).inputs[1] == dy) ||
      body.node(node).as<GeluGradient>().approximate != "none")
    return {};
  found.x = input_index(body, body.node(node).inputs[0]);
  const Value dx{node, 0}, rows = chain.reshaped(dx);
  found.y = one_output(body, dx, rows);
  const int sums = chain.take<BroadcastGradient>();
  if (sums >= 0) {
    const Value summed = body.node(sums).inputs[0];
    if (!(summed == dx) && !(summed == rows)) return {};
    found.sums = output_index(body, {sums, 0});
    if (found.sums < 0) return {};
  }
  const std::size_t outputs = sums < 0 ? 1 : 2;
  const bool all = found.x >= 0 && found.y >= 0 && chain.empty();
  return all && body.outputs().size() == outputs ? std::optional(found) : std::nullopt;
}

// Whether an operand is dense and has the size of these rows.
bool are_rows(const Operand& operand, const Dims& rows) {
  return operand.storage.is_plain() && operand.strides == dense_strides(operand.dims) &&
         !operand.dims.empty() && operand.dims.back() == rows[1] &&
         element_count(operand.dims) == element_count(rows);
}

cpu::View product_operand(const Operand& operand, bool exchange) {
  cpu::View view = kernel_view(operand);
  if (exchange) {
    std::swap(view.dims[0], view.dims[1]);
    std::swap(view.strides[0], view.strides[1]);
  }
  return view;
}

struct Product {
  std::string reason;
  cpu::MatMulViews views;
  cpu::TileEpilogue epilogue;
};

// Why operands beside y are not plain rows of bf16.
std::string rows_reason(const Request& request, const Pattern& found, const Dims& rows) {
  const auto fits = [&](const Operand& operand) {
    return !operand.present || (operand.dtype == DType::bf16 && are_rows(operand, rows));
  };
  const auto output = [&](int i) { return request.outputs[static_cast<std::size_t>(i)]; };
  if (!output(found.y).present) return "nobody reads the result";
  if (!fits(output(found.y)) || (found.kept >= 0 && !fits(output(found.kept))) ||
      (found.x >= 0 && !fits(request.inputs[static_cast<std::size_t>(found.x)])))
    return "values that are not rows of bf16";
  if (found.sums < 0) return {};
  const Operand sums = output(found.sums);
  const bool columns = sums.present && !sums.dims.empty() && sums.dims.back() == rows[1] &&
                       element_count(sums.dims) == rows[1] && are_rows(sums, {1, rows[1]});
  return columns ? "" : "sums that are not those of columns";
}

Product product_of(const Request& request, const Pattern& found) {
  const Node& node = request.as<Fused>().body->node(found.product);
  const Gemm& gemm = node.as<Gemm>();
  const auto input = [&](int i) { return request.inputs[static_cast<std::size_t>(i)]; };
  Product product;
  if (gemm.alpha != 1 || (found.bias >= 0 && gemm.beta != 1)) return {"a scaled product", {}, {}};
  product.views.a = product_operand(input(found.a), gemm.transA != 0);
  product.views.b = product_operand(input(found.b), gemm.transB != 0);
  const Dims rows{product.views.a.dims[0], product.views.b.dims[1]};
  product.views.y = cpu::dense_view(DType::bf16, rows);
  if (found.bias >= 0) {
    const Operand bias = input(found.bias);
    if (bias.dims != Dims{rows[1]}) return {concat("c ", bias.dims), {}, {}};
    product.views.bias = kernel_view(bias);
  }
  product.epilogue.activation = found.activation;
  if (found.sums >= 0)
    product.epilogue.column_sums = request.outputs[static_cast<std::size_t>(found.sums)].dtype;
  product.reason = tile_math_reason(node.math, product.views.a.dtype, request.target);
  for (const int i : {found.a, found.b})
    if (product.reason.empty() && !input(i).storage.is_plain())
      product.reason = concat("storage ", input(i).storage);
  if (product.reason.empty()) product.reason = rows_reason(request, found, rows);
  if (product.reason.empty()) product.reason = tile_gemm_reason(product.views, request.target.isa);
  if (product.reason.empty())
    product.reason = tile_epilogue_reason(product.views, product.epilogue);
  return product;
}

Offer offer_pattern(const Request& request, const std::optional<Pattern>& match) {
  if (!match) return Offer::decline("no product with a Gelu");
  const Pattern& found = *match;
  Product product = product_of(request, found);
  if (!product.reason.empty()) return Offer::decline(std::move(product.reason));
  Offer offer;
  if (found.x >= 0) offer.in_place = {{found.x, found.y}};
  offer.prepare = [found, views = product.views, epilogue = product.epilogue,
                   options = contraction_options(request)](Offer& ready) {
    const cpu::Prepared prepared = prepare_tile_gemm(views, options, epilogue);
    describe(ready, prepared);
    ready.implementation += found.x < 0 ? ", gelu" : ", gelu's gradient";
    ready.run = [found, run = prepared.run](const KernelCall& call) {
      const std::array<const void*, 4> inputs{
          data_at(call.inputs, found.a), data_at(call.inputs, found.b),
          data_at(call.inputs, found.bias), data_at(call.inputs, found.x)};
      const std::array<void*, 2> outputs{data_at(call.outputs, found.y),
                                         data_at(call.outputs, std::max(found.kept, found.sums))};
      run({inputs.data(), outputs.data(), call.workspace, nullptr});
    };
  };
  return offer;
}

}  // namespace

Offer offer_fused_gelu(const Request& request) {
  return offer_pattern(request, match_forward(*request.as<Fused>().body));
}

Offer offer_fused_gelu_gradient(const Request& request) {
  return offer_pattern(request, match_backward(*request.as<Fused>().body));
}

}  // namespace narrowgauge
