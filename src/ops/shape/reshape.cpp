// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/reshape.h"

#include "narrowgauge/graph.h"
#include "ops/elementwise/elementwise.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/reference.h"
#include "ops/shape/move.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes ReshapeTo::infer(const Inference& in) const {
  require(element_count(in.shape(0)) == element_count(shape), "ReshapeTo: ", in.type(0), " has ",
          element_count(in.shape(0)), " elements, ", shape, " has ", element_count(shape));
  return {{in.dtype(0), shape}};
}

Values ReshapeTo::gradient(Gradient& g) const {
  return {g.add(ReshapeTo{g.shape(g.input(0))}, {g.output_gradient()})};
}

TensorTypes ExpandTo::infer(const Inference& in) const {
  require(broadcast_shapes("ExpandTo", in.shape(0), shape) == shape, "ExpandTo: ", in.type(0),
          " does not broadcast to ", shape);
  return {{in.dtype(0), shape}};
}

Values ExpandTo::gradient(Gradient& g) const {
  return {reduce_to(g, g.output_gradient(), g.input(0))};
}

namespace {

Offer offer_view(const Request& request) {
  const Operand& x = request.inputs[0];
  const Operand& y = request.outputs[0];
  if (!x.storage.is_plain() || !y.storage.is_plain())
    return Offer::decline("only plain storage can be seen with another shape");
  if (x.strides != dense_strides(x.dims) || y.strides != dense_strides(y.dims))
    return Offer::decline("a slice cannot be seen with another shape");
  Offer offer;
  offer.implementation = "view";
  offer.aliases = {{0, 0}};
  offer.run = [](const KernelCall&) {};
  return offer;
}

Offer offer_copy_in_order(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
  });
}

constexpr Kernel view_list[] = {{"view", offer_view}, {"reference", offer_copy_in_order}};

Offer offer_expand_copy(const Request& request) {
  if (std::string reason = check_movable(request); !reason.empty())
    return Offer::decline(std::move(reason));
  const Operand& x = request.inputs[0];
  const Operand& y = request.outputs[0];
  const std::size_t missing = y.dims.size() - x.dims.size();
  Move move;
  for (std::size_t i = 0; i < y.dims.size(); ++i) {
    const bool repeated = i < missing || x.dims[i - missing] == 1;
    move.axes.push_back({y.dims[i], repeated ? 0 : x.strides[i - missing], y.strides[i]});
  }
  return offer_moves(request, {move});
}

std::int64_t source_index(const Dims& to, const Dims& from, std::int64_t index) {
  std::int64_t source = 0, stride = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t position = index % to[to.size() - 1 - i];
    index /= to[to.size() - 1 - i];
    if (i >= from.size()) break;
    const std::int64_t dim = from[from.size() - 1 - i];
    if (dim != 1) source += position * stride;
    stride *= dim;
  }
  return source;
}

Offer offer_expand_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      out[0].copy(i, in[0], source_index(out[0].dims(), in[0].dims(), i));
  });
}

constexpr Kernel expand_list[] = {{"copy", offer_expand_copy},
                                  {"reference", offer_expand_reference}};

}  // namespace

std::span<const Kernel> view_kernels() { return view_list; }
std::span<const Kernel> ReshapeTo::kernels() { return view_list; }
std::span<const Kernel> ExpandTo::kernels() { return expand_list; }

}  // namespace narrowgauge

NG_OPS(reshape, narrowgauge::ReshapeTo, narrowgauge::ExpandTo)
