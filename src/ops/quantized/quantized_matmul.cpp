// SPDX-License-Identifier: Apache-2.0
#include "base/unloading.h"
#include "kernels/cpu/bytes/quantized_tiles.h"
#include "kernels/cpu/onednn/quantized.h"
#include "ops/no_gradient.h"
#include "ops/offers/contraction.h"
#include "ops/quantized/int8.h"
#include "ops/quantized/quantized_conv.h"
#include "ops/quantized/quantized_offer.h"
#include "ops/table.h"

namespace narrowgauge {

using namespace cpu;  // NOLINT: the names of inputs

TensorTypes QuantizedMatMul::infer(const Inference& in) const {
  const Shape &x = in.shape(quantized_x), &w = in.shape(quantized_w);
  require(!x.empty() && w.size() == 2, "QuantizedMatMul: expected x of rank 1 or more and w of ",
          "rank 2, got ", x, " and ", w);
  require(x.back() == w[transposed ? 1 : 0], "QuantizedMatMul: x ", x, " and w ", w,
          transposed ? ", transposed," : "", " do not fit");
  Shape y = x;
  y.back() = w[transposed ? 0 : 1];
  const Dim channels = y.back();
  return {quantized_type(in, std::move(y), channels, quantized_end(*this))};
}

double QuantizedMatMul::flops(std::span<const TensorType> in,
                              std::span<const TensorType> out) const {
  return 2.0 * static_cast<double>(known_dims({in[quantized_x].shape.back()})[0]) *
         static_cast<double>(element_count(known_dims(out[0].shape)));
}

namespace {

// A matrix of rows as images of one pixel.
cpu::View rows_of(const Operand& operand) {
  const std::int64_t last = operand.dims.back();
  const std::int64_t rows = last == 0 ? 0 : element_count(operand.dims) / last;
  return dense_view(operand.dtype, {rows, last, 1});
}

cpu::View columns_of(const Operand& w, bool transposed) {
  const std::size_t column = transposed ? 0 : 1, depth = transposed ? 1 : 0;
  return {w.dtype, {w.dims[column], w.dims[depth], 1}, {w.strides[column], w.strides[depth], 1}};
}

std::string gap_reason(const Request& request) {
  const auto has_gaps = [](const Operand& operand) {
    return operand.present && operand.strides != strides_of(operand.dims, {});
  };
  const bool gaps =
      has_gaps(request.input(quantized_x)) || has_gaps(request.output(0)) ||
      (input_given(request, quantized_residual) && has_gaps(request.input(quantized_residual)));
  return gaps ? "an operand with gaps" : "";
}

QuantizedViews quantized_matmul_views(const Request& request) {
  QuantizedViews views{
      rows_of(request.input(quantized_x)),
      columns_of(request.input(quantized_w), request.as<QuantizedMatMul>().transposed),
      rows_of(request.output(0)),
      {},
      weights_last(request),
      numbers_last(request)};
  if (input_given(request, quantized_residual))
    views.residual = rows_of(request.input(quantized_residual));
  return views;
}

const ConvolutionWindow& one_pixel =
    immortal<ConvolutionWindow>(ConvolutionWindow{{1}, {1}, {0}, {0}, 1});

Offer offer_quantized_matmul_onednn(const Request& request) {
  const auto& op = request.as<QuantizedMatMul>();
  std::string reason = saturation_reason(request);
  if (reason.empty()) reason = storage_reason(request);
  if (reason.empty()) reason = gap_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const QuantizedViews views = quantized_matmul_views(request);
  const QuantizedNumbers numbers = quantized_numbers(request, quantized_end(op));
  reason = onednn_quantized_reason(views, numbers);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return quantized_offer([=, x_zero = known_x_zero(request), threads = request.target.threads] {
    return prepare_onednn_quantized(views, one_pixel, numbers, x_zero, threads);
  });
}

Offer offer_quantized_matmul_tiles(const Request& request) {
  std::string reason = storage_reason(request);
  if (reason.empty()) reason = gap_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto& op = request.as<QuantizedMatMul>();
  const QuantizedViews views = quantized_matmul_views(request);
  const QuantizedNumbers numbers = quantized_numbers(request, quantized_end(op));
  reason = quantized_tiles_reason(views, one_pixel, numbers, request.target.isa);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return quantized_offer([=, threads = request.target.threads] {
    return prepare_quantized_tiles(views, one_pixel, numbers, threads);
  });
}

Offer offer_quantized_matmul_rows(const Request& request) {
  std::string reason = storage_reason(request);
  if (reason.empty()) reason = gap_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto& op = request.as<QuantizedMatMul>();
  const QuantizedViews views = quantized_matmul_views(request);
  reason = quantized_convolution_reason(views);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const QuantizedNumbers numbers = quantized_numbers(request, quantized_end(op));
  return quantized_offer([=, threads = request.target.threads] {
    return prepare_quantized_convolution(views, one_pixel, numbers, threads);
  });
}

Offer quantized_matmul_reference(const Request& request) {
  const auto& op = request.as<QuantizedMatMul>();
  return reference_offer(
      request, [op](const ReferenceViews& in, const ReferenceViews& out, const KernelCall&) {
        const ReferenceView &x = in[quantized_x], &w = in[quantized_w];
        const std::int64_t depth = x.dims().back(), columns = out[0].dims().back();
        const std::int64_t x_zero = int8_zero(in, quantized_x_zero, 0);
        for (std::int64_t i = 0; i < out[0].size(); ++i) {
          const std::int64_t row = i / columns, column = i % columns;
          const std::int64_t w_zero = int8_zero(in, quantized_w_zero, column);
          std::int64_t sum = 0;
          for (std::int64_t k = 0; k < depth; ++k)
            sum += (x.integer(row * depth + k) - x_zero) *
                   (w.integer(op.transposed ? column * depth + k : k * columns + column) - w_zero);
          store_quantized(in, out[0], i, column, sum, quantized_end(op));
        }
      });
}

constexpr Kernel quantized_matmul_kernels[] = {{"int8 tiles", offer_quantized_matmul_tiles},
                                               {"int8 rows", offer_quantized_matmul_rows},
                                               {"onednn", offer_quantized_matmul_onednn},
                                               {"reference", quantized_matmul_reference}};

}  // namespace

std::span<const Kernel> QuantizedMatMul::kernels() { return quantized_matmul_kernels; }

}  // namespace narrowgauge

NG_OPS(quantized_matmul, narrowgauge::QuantizedMatMul)
NG_NO_GRADIENT(quantized_matmul, "whole numbers", narrowgauge::QuantizedMatMul)
