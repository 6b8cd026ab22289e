// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/average_pool.h"

#include <algorithm>

#include "kernels/cpu/pool/pooling.h"
#include "narrowgauge/graph.h"
#include "ops/nn/averaging.h"
#include "ops/offers/batch_inner.h"
#include "ops/offers/contraction.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

TensorTypes AveragePool::infer(const Inference& in) const {
  return {{in.dtype(0), pool_shape(*this, in.shape(0))}};
}

TensorTypes AveragePoolGradient::infer(const Inference& in) const {
  const Shape y = pool_shape(*this, shape);
  require(in.shape(0) == y, "AveragePoolGradient: windows over ", shape, " give ", y, ", got dy ",
          in.type(0));
  return {{in.dtype(0), shape}};
}

Values AveragePool::gradient(Gradient& g) const {
  const AveragePoolGradient op{auto_pad,     ceil_mode, count_include_pad, dilations,
                               kernel_shape, pads,      strides,           g.shape(g.input(0))};
  return {g.add(op, {g.output_gradient()})};
}

Values AveragePoolGradient::gradient(Gradient& g) const {
  const AveragePool op{auto_pad, ceil_mode, count_include_pad, dilations, kernel_shape,
                       pads,     strides};
  return {g.add(op, {g.output_gradient()})};
}

TensorTypes GlobalAveragePool::infer(const Inference& in) const {
  return {{in.dtype(0), global_shape("GlobalAveragePool", in.shape(0))}};
}

TensorTypes GlobalAveragePoolGradient::infer(const Inference& in) const {
  const Shape y = global_shape("GlobalAveragePoolGradient", shape);
  require(in.shape(0) == y, "GlobalAveragePoolGradient: expected dy of ", y, " for dx of ", shape,
          ", got ", in.type(0));
  return {{in.dtype(0), shape}};
}

Values GlobalAveragePool::gradient(Gradient& g) const {
  return {g.add(GlobalAveragePoolGradient{g.shape(g.input(0))}, {g.output_gradient()})};
}

Values GlobalAveragePoolGradient::gradient(Gradient& g) const {
  return {g.add(GlobalAveragePool{}, {g.output_gradient()})};
}

namespace {

// `input` is the spatial part of x or dx.
template <class Op>
Averaging averaging(const Op& op, const Dims& input) {
  if constexpr (requires { op.kernel_shape; }) {
    return {resolve_window(pool_window(op), input), op.count_include_pad != 0};
  } else {
    return averaging_all(input);
  }
}

std::string average_pool_reason(const Request& request) {
  const DType dtype = request.inputs[0].dtype;
  if (!is_f32_or_narrow(dtype) && dtype != DType::f64) return concat("dtype ", dtype);
  const bool blocks = is_batch_inner(request);
  for (const Operand& operand : {request.inputs[0], request.outputs[0]}) {
    if (!blocks && !(operand.storage.blocks.empty() && operand.storage.encoding.empty()))
      return concat("storage ", operand.storage);
    if (element_count(operand.dims) == 0) return "no elements";
  }
  return {};
}

template <class Op, bool backward>
Offer offer_average_pool(const Request& request) {
  std::string reason = average_pool_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Operand &in = request.inputs[0], &out = request.outputs[0];
  const Averaging how = averaging(request.as<Op>(), spatial_part(backward ? out.dims : in.dims));
  const auto prepare = backward ? cpu::prepare_average_pool_gradient : cpu::prepare_average_pool;
  return offer_prepared(prepare(spatial_view(request, in), spatial_view(request, out),
                                how.pool_window(), how.count()),
                        {0});
}

// Calls visit(element of x, element of y, 1 / count) for all pairs that a mean joins.
void each_pair(const Averaging& how, const Dims& x_dims, const Dims& y_dims,
               const std::function<void(std::int64_t, std::int64_t, double)>& visit) {
  const Dims x = spatial_part(x_dims), y = spatial_part(y_dims);
  const std::int64_t x_size = element_count(x), y_size = element_count(y);
  for (std::int64_t i = 0; i < element_count(y_dims); ++i) {
    Dims place(y.size());
    std::int64_t rest = i % y_size;
    for (std::size_t axis = y.size(); axis-- > 0; rest /= y[axis]) place[axis] = rest % y[axis];
    const auto count = static_cast<double>(counted(how, x, place));
    each_tap(how.window, x, place, [&](std::int64_t element, std::int64_t) {
      if (element >= 0) visit(i / y_size * x_size + element, i, 1 / count);
    });
  }
}

template <class Op, bool backward>
Offer average_pool_reference(const Request& request) {
  const Dims& x = backward ? request.outputs[0].dims : request.inputs[0].dims;
  const Averaging how = averaging(request.as<Op>(), spatial_part(x));
  return reference_offer(request, [how](const auto& in, const auto& out, const KernelCall&) {
    ReferenceSums sums(out[0].size());
    const Dims& from = in[0].dims();
    const Dims& to = out[0].dims();
    each_pair(how, backward ? to : from, backward ? from : to,
              [&](std::int64_t x_element, std::int64_t y_element, double share) {
                const std::int64_t source = backward ? y_element : x_element;
                const std::int64_t target = backward ? x_element : y_element;
                sums[target] += in[0][source] * share;
              });
    store(sums, out[0]);
  });
}

template <class Op, bool backward>
constexpr Kernel average_pool_kernels[] = {{"rows", offer_average_pool<Op, backward>},
                                           {"reference", average_pool_reference<Op, backward>}};

}  // namespace

std::span<const Kernel> AveragePool::kernels() { return average_pool_kernels<AveragePool, false>; }
std::span<const Kernel> AveragePoolGradient::kernels() {
  return average_pool_kernels<AveragePoolGradient, true>;
}
std::span<const Kernel> GlobalAveragePool::kernels() {
  return average_pool_kernels<GlobalAveragePool, false>;
}
std::span<const Kernel> GlobalAveragePoolGradient::kernels() {
  return average_pool_kernels<GlobalAveragePoolGradient, true>;
}

}  // namespace narrowgauge

NG_OPS(average_pool, narrowgauge::AveragePool, narrowgauge::AveragePoolGradient,
       narrowgauge::GlobalAveragePool, narrowgauge::GlobalAveragePoolGradient)
