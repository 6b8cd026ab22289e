// SPDX-License-Identifier: Apache-2.0
#include "ops/math/broadcast_gradient.h"

#include <algorithm>
#include <memory>

#include "kernels/cpu/reduce/column_sums.h"
#include "kernels/cpu/reduce/reduce.h"
#include "narrowgauge/graph.h"
#include "ops/elementwise/elementwise.h"
#include "ops/offers/batch_inner.h"
#include "ops/reference.h"
#include "ops/shape/axis.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

bool are_channels(const Dims& sums, const Dims& images) {
  return sums == Dims{images[1], 1, 1} || sums == Dims{1, images[1], 1, 1};
}

TensorTypes BroadcastGradient::infer(const Inference& in) const {
  require(broadcast_shapes("BroadcastGradient", shape, in.shape(0)) == in.shape(0),
          "BroadcastGradient: ", shape, " does not broadcast to ", in.type(0));
  return {{in.dtype(0), shape}};
}

Values BroadcastGradient::gradient(Gradient& g) const {
  return {g.add(ExpandTo{g.shape(g.input(0))}, {g.output_gradient()})};
}

namespace {

// How far a step along each axis of the input moves in the row-major result; 0 if summed.
Dims target_strides(const Dims& from, const Dims& to) {
  const Dims dense = dense_strides(to);
  Dims strides(from.size());
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] != 1) strides[from.size() - to.size() + i] = dense[i];
  return strides;
}

Offer broadcast_gradient_reference(const Request& request) {
  const Dims strides = target_strides(request.inputs[0].dims, request.outputs[0].dims);
  return reference_offer(request, [strides](const auto& in, const auto& out, const KernelCall&) {
    ReferenceSums sums(out[0].size());
    const Dims& dims = in[0].dims();
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      std::int64_t rest = i, target = 0;
      for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
        target += rest % dims[axis] * strides[axis];
      sums[target] += in[0][i];
    }
    store(sums, out[0]);
  });
}

std::vector<cpu::ReduceAxis> axes_between(const Operand& from, const Operand& to) {
  std::vector<cpu::ReduceAxis> axes;
  const std::size_t added = from.dims.size() - to.dims.size();
  for (std::size_t i = 0; i < from.dims.size(); ++i) {
    const bool kept = i >= added && to.dims[i - added] == from.dims[i];
    axes.push_back({from.dims[i], from.strides[i], kept ? to.strides[i - added] : 0, !kept});
  }
  return axes;
}

bool sums_channels(const Operand& dy, const Operand& dx) {
  return lies_batch_inner(dy) && dx.storage.is_plain() && are_channels(dx.dims, dy.dims);
}

std::vector<cpu::ReduceAxis> axes_of_blocks(const Dims& dims) {
  return {{dims[0] / 32 * dims[2] * dims[3], dims[1] * 32, 0, true},
          {dims[1] / 32, 1024, 32, false},
          {32, 32, 0, true},
          {32, 1, 1, false}};
}

Offer offer_sums(const Request& request) {
  const Operand& dy = request.inputs[0];
  const Operand& dx = request.outputs[0];
  for (const Operand* operand : {&dy, &dx}) {
    const DType dtype = operand->dtype;
    if (!is_f32_or_narrow(dtype))
      return Offer::decline(concat("sums are made in f32, not from ", dtype));
    const bool strided = operand->storage.blocks.empty() && operand->storage.encoding.empty();
    if (!strided && !sums_channels(dy, dx))
      return Offer::decline(concat("storage ", operand->storage));
  }
  const auto sum = std::make_shared<const cpu::Reduce>(
      cpu::Reduction::sum, sums_channels(dy, dx) ? axes_of_blocks(dy.dims) : axes_between(dy, dx));
  Offer offer;
  offer.workspace = sum->workspace();
  offer.run = [sum, from = dy.dtype, to = dx.dtype](const KernelCall& call) {
    sum->run({call.inputs[0].data, from}, {call.outputs[0].data, to, 0, call.flushed_at(0)},
             call.workspace);
  };
  return offer;
}

// For sums over all leading axes, while the others stay.
Offer offer_columns(const Request& request) {
  const Operand &dy = request.inputs[0], &dx = request.outputs[0];
  for (const Operand* operand : {&dy, &dx}) {
    const DType dtype = operand->dtype;
    if (!is_f32_or_narrow(dtype))
      return Offer::decline(concat("sums are made in f32, not from ", dtype));
    if (!is_dense(*operand)) return Offer::decline("elements do not lie in their logical order");
  }
  const std::int64_t columns = element_count(dx.dims), all = element_count(dy.dims);
  std::size_t kept = 0;
  while (kept < dx.dims.size() && dx.dims[kept] == 1) ++kept;
  const auto from_end = static_cast<std::ptrdiff_t>(dx.dims.size() - kept);
  if (!std::equal(dx.dims.end() - from_end, dx.dims.end(), dy.dims.end() - from_end))
    return Offer::decline("the axes that stay are not the last");
  if (all == 0 || columns < 32) return Offer::decline(concat("rows of ", columns));
  const cpu::RowLayout layout{all / columns, columns};
  Offer offer;
  offer.workspace = column_sums_workspace(layout);
  offer.run = [layout, from = dy.dtype, to = dx.dtype](const KernelCall& call) {
    column_sums(layout, {call.inputs[0].data, from},
                {call.outputs[0].data, to, 0, call.flushed_at(0)}, call.workspace);
  };
  return offer;
}

constexpr Kernel broadcast_gradient_kernels[] = {
    {"columns", offer_columns}, {"sums", offer_sums}, {"reference", broadcast_gradient_reference}};

}  // namespace

std::span<const Kernel> BroadcastGradient::kernels() { return broadcast_gradient_kernels; }

Value reduce_to(Rewriting& r, Value gradient, Value like) {
  if (r.shape(gradient) == r.shape(like)) return gradient;
  return r.add(BroadcastGradient{r.shape(like)}, {gradient});
}

}  // namespace narrowgauge

NG_OPS(broadcast_gradient, narrowgauge::BroadcastGradient)
