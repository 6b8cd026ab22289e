// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantized_average_pool.h"

#include <cmath>

#include "kernels/cpu/bytes/byte_average_pool.h"
#include "ops/nn/averaging.h"
#include "ops/no_gradient.h"
#include "ops/offers/contraction.h"
#include "ops/quantized/int8.h"
#include "ops/quantized/quantized_offer.h"
#include "ops/table.h"

namespace narrowgauge {

using namespace cpu;  // NOLINT: the names of inputs

TensorTypes QuantizedAveragePool::infer(const Inference& in) const {
  require_lines(in, average_x_scale, {"scale of x", 1});
  require_lines(in, average_x_zero, {"zero point of x", 1});
  require_lines(in, average_y_scale, {"scale of y", 1});
  require_lines(in, average_y_zero, {"zero point of y", 1});
  require(in.has(average_y_scale) == in.has(average_y_zero), in.op_name(),
          ": y has a scale and a zero point, or neither");
  const Shape& x = in.shape(average_x);
  const DType dtype = in.has(average_y_zero) ? in.dtype(average_y_zero) : DType::f32;
  return {{dtype, kernel_shape.empty() ? global_shape(in.op_name(), x) : pool_shape(*this, x)}};
}

namespace {

Averaging averaging(const Request& request) {
  const auto& op = request.as<QuantizedAveragePool>();
  const Dims input = spatial_part(request.input(average_x).dims);
  if (op.kernel_shape.empty()) return averaging_all(input);
  return {resolve_window(pool_window(op), input), op.count_include_pad != 0};
}

Offer offer_bytes(const Request& request) {
  std::string reason = storage_reason(request);
  const Averaging how = averaging(request);
  if (reason.empty()) reason = byte_average_pool_reason(how.pool_window());
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return quantized_offer(
      [=, x = kernel_view(request.input(average_x)), y = kernel_view(request.output(0))] {
        return prepare_byte_average_pool(x, y, how.pool_window(), how.count());
      });
}

void store_average(const ReferenceViews& in, const ReferenceView& y, std::int64_t i,
                   std::int64_t sum, std::int64_t count) {
  const float step = int8_scale(in, average_x_scale, 0) / int8_scale(in, average_y_scale, 0);
  const float value = static_cast<float>(sum) * (step / static_cast<float>(count));
  if (y.dtype() == DType::f32) return y.set(i, double{value});
  const double whole = std::isnan(value) ? 0 : std::nearbyint(double{value});
  y.set(i, whole + static_cast<double>(int8_zero(in, average_y_zero, 0)));
}

Offer quantized_average_pool_reference(const Request& request) {
  return reference_offer(
      request, [how = averaging(request)](const ReferenceViews& in, const ReferenceViews& out,
                                          const KernelCall&) {
        const Dims x = spatial_part(in[average_x].dims()), y = spatial_part(out[0].dims());
        const std::int64_t x_size = element_count(x), y_size = element_count(y);
        const std::int64_t zero = int8_zero(in, average_x_zero, 0);
        for (std::int64_t i = 0; i < out[0].size(); ++i) {
          Dims place(y.size());
          std::int64_t rest = i % y_size, sum = 0;
          for (std::size_t axis = y.size(); axis-- > 0; rest /= y[axis])
            place[axis] = rest % y[axis];
          each_tap(how.window, x, place, [&](std::int64_t element, std::int64_t) {
            if (element >= 0) sum += in[average_x].integer(i / y_size * x_size + element) - zero;
          });
          store_average(in, out[0], i, sum, counted(how, x, place));
        }
      });
}

constexpr Kernel quantized_average_pool_kernels[] = {
    {"bytes", offer_bytes}, {"reference", quantized_average_pool_reference}};

}  // namespace

std::span<const Kernel> QuantizedAveragePool::kernels() { return quantized_average_pool_kernels; }

}  // namespace narrowgauge

NG_OPS(quantized_average_pool, narrowgauge::QuantizedAveragePool)
NG_NO_GRADIENT(quantized_average_pool, "whole numbers", narrowgauge::QuantizedAveragePool)
