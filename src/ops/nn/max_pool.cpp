// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/max_pool.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/pool/batch_inner_pool.h"
#include "kernels/cpu/pool/byte_max_pool.h"
#include "kernels/cpu/pool/pooling.h"
#include "narrowgauge/graph.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/contraction.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// The smallest dtype that holds the number of a tap.
DType tap_dtype(const Dims& kernel) {
  return element_count(kernel) <= 256 ? DType::u8 : DType::i32;
}

cpu::PoolWindow kernel_window(const Window& w) {
  return {w.kernel, w.strides, w.dilations, w.pads_begin, w.pads_end};
}

}  // namespace

TensorTypes MaxPool::infer(const Inference& in) const {
  require(storage_order == 0 || storage_order == 1, "MaxPool: storage_order must be 0 or 1, got ",
          storage_order);
  const Shape y = pool_shape(*this, in.shape(0));
  return {{in.dtype(0), y}, {DType::i64, y}, {tap_dtype(kernel_shape), y}};
}

Values MaxPool::gradient(Gradient& g) const {
  if (!g.has_output_gradient(0)) return {absent};
  const MaxPoolGradient op{auto_pad, ceil_mode, dilations,          kernel_shape,
                           pads,     strides,   g.shape(g.input(0))};
  return {g.add(op, {g.output_gradient(), g.output(2)})};
}

TensorTypes MaxPoolGradient::infer(const Inference& in) const {
  const Shape y = pool_shape(*this, shape);
  const TensorType taps{tap_dtype(kernel_shape), y};
  require(in.shape(0) == y && in.type(1) == taps, "MaxPoolGradient: windows over ", shape, " give ",
          y, ", got dy ", in.type(0), " and taps ", in.type(1));
  return {{in.dtype(0), shape}};
}

Values MaxPoolGradient::gradient(Gradient& g) const {
  const MaxPoolTaken op{auto_pad, ceil_mode, dilations, kernel_shape, pads, strides};
  return {g.add(op, {g.output_gradient(), g.input(1)}), absent};
}

TensorTypes MaxPoolTaken::infer(const Inference& in) const {
  const TensorType taps{tap_dtype(kernel_shape), pool_shape(*this, in.shape(0))};
  require(in.type(1) == taps, "MaxPoolTaken: expected taps ", taps, ", got ", in.type(1));
  return {{in.dtype(0), taps.shape}};
}

Values MaxPoolTaken::gradient(Gradient& g) const {
  const MaxPoolGradient op{auto_pad, ceil_mode, dilations,          kernel_shape,
                           pads,     strides,   g.shape(g.input(0))};
  return {g.add(op, {g.output_gradient(), g.input(1)}), absent};
}

namespace {

Window window_of(const Request& request, const Operand& x) {
  return resolve_window(pool_window(request.as<MaxPool>()), spatial_part(x.dims));
}

std::string max_pool_reason(const Request& request, DType dtype) {
  if (!is_f32_or_narrow(dtype) && dtype != DType::f64) return concat("dtype ", dtype);
  if (is_batch_inner(request)) return {};
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (!operand.storage.blocks.empty() || !operand.storage.encoding.empty())
        return concat("storage ", operand.storage);
  return {};
}

// Why vectors of blocks cannot compute this; "" if they can. `taps`: null if nobody reads them.
std::string blocks_reason(const Request& request, const Operand* taps,
                          const cpu::BatchInnerMaxPool& pool) {
  if (!is_batch_inner(request)) return "not in batch-inner blocks";
  if (taps && taps->dtype != DType::u8) return concat("taps of ", taps->dtype);
  return batch_inner_max_pool_reason(pool, request.target.isa);
}

Offer offer_blocks(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0], &taps = request.outputs[2];
  const cpu::BatchInnerMaxPool pool{x.dims, y.dims, kernel_window(window_of(request, x)), x.dtype,
                                    taps.present};
  std::string reason = blocks_reason(request, taps.present ? &taps : nullptr, pool);
  if (request.outputs[1].present) reason = "indices of elements in blocks";
  if (!y.present) reason = "nobody reads y";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.prepare = [pool](Offer& ready) {
    const cpu::Prepared prepared = prepare_batch_inner_max_pool(pool);
    describe(ready, prepared);
    ready.run = [run = prepared.run](const KernelCall& call) {
      const void* const in = call.inputs[0].data;
      void* const out[] = {call.outputs[0].data, call.outputs[2].data};
      run({&in, out, call.workspace, nullptr});
    };
  };
  return offer;
}

Offer offer_gradient_blocks(const Request& request) {
  const Operand &dy = request.inputs[0], &taps = request.inputs[1], &dx = request.outputs[0];
  const auto& op = request.as<MaxPoolGradient>();
  const cpu::BatchInnerMaxPool pool{
      dx.dims, dy.dims, kernel_window(resolve_window(pool_window(op), spatial_part(dx.dims))),
      dx.dtype};
  std::string reason = blocks_reason(request, &taps, pool);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared([pool] { return prepare_batch_inner_max_pool_gradient(pool); }, {0, 1});
}

// Takes requests for y and one kind of index.
Offer offer_max_pool(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::string reason = max_pool_reason(request, x.dtype);
  const bool indices = request.outputs[1].present, taps = request.outputs[2].present;
  if (indices && taps) reason = "indices and taps together";
  if (indices && request.as<MaxPool>().storage_order != 0) reason = "storage_order 1";
  if (indices && is_batch_inner(request)) reason = "indices of elements in blocks";
  if (!y.present) reason = "nobody reads y";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const std::size_t place = taps ? 2 : 1;
  std::optional<cpu::View> view;
  if (indices || taps) view = spatial_view(request, request.outputs[place]);
  const cpu::Prepared prepared =
      prepare_max_pool(spatial_view(request, x), spatial_view(request, y), view,
                       kernel_window(window_of(request, x)));
  Offer offer;
  describe(offer, prepared);
  offer.run = [run = prepared.run, place](const KernelCall& call) {
    const void* const in = call.inputs[0].data;
    void* const out[] = {call.outputs[0].data, call.outputs[place].data};
    run({&in, out, call.workspace, call.flushed_at(0)});
  };
  return offer;
}

Offer offer_bytes(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::string reason = storage_reason(request);
  if (x.dtype != DType::u8 && x.dtype != DType::i8) reason = concat("dtype ", x.dtype);
  if (request.outputs[1].present || request.outputs[2].present) reason = "places of bytes";
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(cpu::prepare_byte_max_pool(kernel_view(x), kernel_view(y),
                                                   kernel_window(window_of(request, x))),
                        {0});
}

Offer offer_max_pool_gradient(const Request& request) {
  const Operand &dy = request.inputs[0], &dx = request.outputs[0];
  std::string reason = max_pool_reason(request, dy.dtype);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto& op = request.as<MaxPoolGradient>();
  const Window window = resolve_window(pool_window(op), spatial_part(dx.dims));
  return offer_prepared(
      prepare_max_pool_gradient(spatial_view(request, dy), spatial_view(request, request.inputs[1]),
                                spatial_view(request, dx), kernel_window(window)),
      {0, 1});
}

// The row-major sizes of a pool.
struct MaxPoolSizes {
  Dims x, y;  // spatial
  std::int64_t planes, x_size, y_size;
  MaxPoolSizes(const Dims& x_dims, const Dims& y_dims)
      : x(spatial_part(x_dims)),
        y(spatial_part(y_dims)),
        planes(x_dims[0] * x_dims[1]),
        x_size(element_count(x)),
        y_size(element_count(y)) {}
  Dims place(std::int64_t index) const { return place_of(index, y); }
  // The index of an element in a column-major spatial part.
  std::int64_t column_major(std::int64_t element) const {
    const Dims at = place_of(element, x);
    std::int64_t index = 0;
    for (std::size_t axis = x.size(); axis-- > 0;) index = index * x[axis] + at[axis];
    return index;
  }

 private:
  static Dims place_of(std::int64_t index, const Dims& dims) {
    Dims place(dims.size());
    for (std::size_t axis = dims.size(); axis-- > 0; index /= dims[axis])
      place[axis] = index % dims[axis];
    return place;
  }
};

Offer max_pool_reference(const Request& request) {
  const Window window = window_of(request, request.inputs[0]);
  const bool column_major = request.as<MaxPool>().storage_order == 1;
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const MaxPoolSizes sizes(in[0].dims(), out[0].dims());
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t plane = i / sizes.y_size * sizes.x_size;
      double best = -std::numeric_limits<double>::infinity();
      std::int64_t best_element = -1, best_tap = 0;
      each_tap(window, sizes.x, sizes.place(i % sizes.y_size),
               [&](std::int64_t element, std::int64_t tap) {
                 if (element < 0) return;
                 const double value = in[0][plane + element];
                 const bool first_nan = std::isnan(value) && !std::isnan(best);
                 if (best_element >= 0 && !(value > best) && !first_nan) return;
                 best = value;
                 best_element = element;
                 best_tap = tap;
               });
      out[0].set(i, best);
      const bool reorder = column_major && best_element >= 0;
      out[1].set_whole(i, plane + (reorder ? sizes.column_major(best_element) : best_element));
      out[2].set_whole(i, best_tap);
    }
  });
}

Offer max_pool_gradient_reference(const Request& request) {
  const Window window = resolve_window(pool_window(request.as<MaxPoolGradient>()),
                                       spatial_part(request.outputs[0].dims));
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const MaxPoolSizes sizes(out[0].dims(), in[0].dims());
    ReferenceSums sums(out[0].size());
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      const std::int64_t taken = in[1].integer(i);
      each_tap(window, sizes.x, sizes.place(i % sizes.y_size),
               [&](std::int64_t element, std::int64_t tap) {
                 if (tap != taken || element < 0) return;
                 sums[i / sizes.y_size * sizes.x_size + element] += in[0][i];
               });
    }
    store(sums, out[0]);
  });
}

Offer max_pool_taken_reference(const Request& request) {
  const Window window =
      resolve_window(pool_window(request.as<MaxPoolTaken>()), spatial_part(request.inputs[0].dims));
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const MaxPoolSizes sizes(in[0].dims(), out[0].dims());
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t taken = in[1].integer(i);
      double value = 0;
      each_tap(window, sizes.x, sizes.place(i % sizes.y_size),
               [&](std::int64_t element, std::int64_t tap) {
                 if (tap == taken && element >= 0)
                   value = in[0][i / sizes.y_size * sizes.x_size + element];
               });
      out[0].set(i, value);
    }
  });
}

constexpr Kernel max_pool_kernels[] = {{"blocks", offer_blocks},
                                       {"rows", offer_max_pool},
                                       {"bytes", offer_bytes},
                                       {"reference", max_pool_reference}};
constexpr Kernel max_pool_gradient_kernels[] = {{"blocks", offer_gradient_blocks},
                                                {"rows", offer_max_pool_gradient},
                                                {"reference", max_pool_gradient_reference}};
constexpr Kernel max_pool_taken_kernels[] = {{"reference", max_pool_taken_reference}};

}  // namespace

std::span<const Kernel> MaxPool::kernels() { return max_pool_kernels; }
std::span<const Kernel> MaxPoolGradient::kernels() { return max_pool_gradient_kernels; }
std::span<const Kernel> MaxPoolTaken::kernels() { return max_pool_taken_kernels; }

}  // namespace narrowgauge

NG_OPS(max_pool, narrowgauge::MaxPool, narrowgauge::MaxPoolGradient, narrowgauge::MaxPoolTaken)
