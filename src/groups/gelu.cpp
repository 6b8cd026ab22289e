// SPDX-License-Identifier: Apache-2.0
// A Gemm with the Gelu or the GeluGradient that reads it, on tiles; the latter with the sums of its
// columns, which are the gradient of a bias.
#include "ops/activation/gelu.h"

#include <algorithm>
#include <array>
#include <utility>

#include "groups/group.h"
#include "ir/reason.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
#include "kernels/cpu/tiles/tile_gemm.h"
#include "ops/math/gemm.h"
#include "ops/offers/contraction.h"
#include "ops/offers/pixel_product.h"
#include "ops/shape/broadcast_gradient.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

using cpu::TileActivation;

struct GeluGroup {
  static constexpr std::string_view name = "gelu";
  struct Pattern : GroupPattern {
    Part product = one<Gemm>();
    Part reshaped = maybe<ReshapeTo>({reads(0, {product})});
    Part gelu = anchor<Gelu>({shared(0, {reshaped, product})});
    Pattern() {
      where(gelu,
            [](const Graph&, const Node& node) { return node.as<Gelu>().approximate == "none"; });
    }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

struct GeluBack {
  static constexpr std::string_view name = "gelu back";
  struct Pattern : GroupPattern {
    Part product = one<Gemm>();
    Part reshaped = maybe<ReshapeTo>({reads(0, {product})});
    Part gradient = anchor<GeluGradient>({reads(1, {reshaped, product})});
    Part rows = maybe<ReshapeTo>({reads(0, {gradient})});
    Part bias = maybe<BroadcastGradient>({shared(0, {rows, gradient})});
    Pattern() {
      where(gradient, [](const Graph&, const Node& node) {
        return node.as<GeluGradient>().approximate == "none";
      });
    }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// Indices of operands; -1: none.
struct GeluOperands {
  int a = -1, b = -1, bias = -1, x = -1;
  int y = -1, kept = -1, sums = -1;
  TileActivation activation;
};

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

// Why operands beside the product's own are not plain rows of bf16; "" if they are.
std::string rows_reason(const GroupRequest& group, const GeluOperands& at, const Dims& rows) {
  const auto fits = [&](const Operand& operand) {
    return !operand.present || (operand.dtype == DType::bf16 && are_rows(operand, rows));
  };
  return first_reason([&] { return unless(group.output(at.y).present, "nobody reads the result"); },
                      [&] {
                        return unless(fits(group.output(at.y)) &&
                                          (at.kept < 0 || fits(group.output(at.kept))) &&
                                          (at.x < 0 || fits(group.input(at.x))),
                                      "values that are not rows of bf16");
                      },
                      [&] {
                        if (at.sums < 0) return std::string();
                        const Operand& sums = group.output(at.sums);
                        return unless(sums.present && element_count(sums.dims) == rows[1] &&
                                          are_rows(sums, {1, rows[1]}),
                                      "sums that are not those of columns");
                      });
}

struct GeluProduct {
  cpu::MatMulViews views;
  cpu::TileEpilogue epilogue;
};

GeluProduct product_of(const GroupRequest& group, const Gemm& gemm, const GeluOperands& at) {
  GeluProduct product;
  product.views.a = product_operand(group.input(at.a), gemm.transA != 0);
  product.views.b = product_operand(group.input(at.b), gemm.transB != 0);
  product.views.y =
      cpu::dense_view(DType::bf16, {product.views.a.dims[0], product.views.b.dims[1]});
  if (at.bias >= 0) product.views.bias = kernel_view(group.input(at.bias));
  product.epilogue.activation = at.activation;
  if (at.sums >= 0) product.epilogue.column_sums = group.output(at.sums).dtype;
  return product;
}

std::string product_reason(const GroupRequest& group, const Node& node, const GeluOperands& at,
                           const GeluProduct& product) {
  const cpu::MatMulViews& views = product.views;
  const auto storage = [&](int i) {
    const Operand& operand = group.input(i);
    return operand.storage.is_plain() ? std::string() : concat("storage ", operand.storage);
  };
  return first_reason(
      [&] {
        if (at.bias < 0 || group.input(at.bias).dims == Dims{views.y.dims[1]}) return std::string();
        return concat("c ", group.input(at.bias).dims);
      },
      [&] { return way_reason(Way::tiles, node.math, views.a.dtype, group.target()); },
      [&] { return storage(at.a); }, [&] { return storage(at.b); },
      [&] { return rows_reason(group, at, views.y.dims); },
      [&] { return tile_gemm_reason(views, group.target().isa); },
      [&] { return tile_epilogue_reason(views, product.epilogue); });
}

// Whether the product is by a constant matrix, and its sums are not kept.
bool predicts(const GroupRequest& group, const GeluOperands& at) {
  return at.activation == TileActivation::gelu && group.input(at.b).lasts &&
         (at.kept < 0 || !group.output(at.kept).present);
}

Offer offer_pixels(const GeluOperands& at, const cpu::BoundedConvolution& pixels) {
  return offer_prepared(
      [pixels] {
        cpu::Prepared prepared = prepare_pixel_convolution(pixels);
        prepared.implementation += ", gelu";
        return prepared;
      },
      {at.a, at.b, at.bias});
}

Offer offer_product(const GroupRequest& group, Part part, GeluOperands at) {
  const Node& node = group.match.node(part);
  const Gemm& gemm = node.as<Gemm>();
  at.a = group.match.input(part, 0);
  at.b = group.match.input(part, 1);
  at.bias = group.match.input(part, 2);
  const bool biased = node.inputs.size() > 2 && !node.inputs[2].is_absent();
  std::string reason = first_reason(
      [&] { return unless(at.a >= 0 && at.b >= 0 && (!biased || at.bias >= 0), "a constant"); },
      [&] { return unless(at.y >= 0, "nobody reads the result"); },
      [&] { return unless(gemm.alpha == 1 && (!biased || gemm.beta == 1), "a scaled product"); });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const GeluProduct product = product_of(group, gemm, at);
  reason = product_reason(group, node, at, product);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  if (predicts(group, at)) {
    cpu::BoundedConvolution pixels = product_of_pixels(product.views, group.target().threads);
    pixels.gelu = true;
    if (pixel_product_reason(product.views, pixels, group.target().isa).empty())
      return offer_pixels(at, pixels);
  }
  Offer offer;
  if (at.x >= 0) offer.in_place = {{at.x, at.y}};
  offer.prepare = [at, product, options = contraction_options(group.request)](Offer& ready) {
    const cpu::Prepared prepared = prepare_tile_gemm(product.views, options, product.epilogue);
    describe(ready, prepared);
    ready.implementation += at.x < 0 ? ", gelu" : ", gelu's gradient";
    ready.run = [at, run = prepared.run](const KernelCall& call) {
      const std::array<const void*, 4> inputs{
          data_at(call.inputs, at.a), data_at(call.inputs, at.b), data_at(call.inputs, at.bias),
          data_at(call.inputs, at.x)};
      const std::array<void*, 2> outputs{data_at(call.outputs, at.y),
                                         data_at(call.outputs, std::max(at.kept, at.sums))};
      run({inputs.data(), outputs.data(), call.workspace, nullptr});
    };
  };
  return offer;
}

Offer GeluGroup::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  GeluOperands at{.activation = TileActivation::gelu};
  at.y = match.output(parts.gelu);
  at.kept = match.output(match.has(parts.reshaped) ? parts.reshaped : parts.product);
  return offer_product(group, parts.product, at);
}

Offer GeluBack::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  GeluOperands at{.activation = TileActivation::gelu_gradient};
  at.x = match.input(parts.gradient, 0);
  at.y = match.output(match.has(parts.rows) ? parts.rows : parts.gradient);
  if (match.has(parts.bias)) at.sums = match.output(parts.bias);
  if (at.x < 0) return Offer::decline("a gradient at a constant");
  return offer_product(group, parts.product, at);
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(gelu, narrowgauge::GeluGroup, narrowgauge::GeluBack)
