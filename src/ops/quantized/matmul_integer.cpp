// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/matmul_integer.h"

#include "ops/math/matrix_shapes.h"
#include "ops/no_gradient.h"
#include "ops/quantized/int8.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The positions of the inputs of both ops.
struct MatMulPorts {
  int a, b, a_zero, b_zero;
  int a_scale = -1, b_scale = -1, y_scale = -1, y_zero = -1;
};
constexpr MatMulPorts integer_places{0, 1, 2, 3};
constexpr MatMulPorts linear_places{0, 3, 2, 5, 1, 4, 6, 7};

Shape product_of(const Inference& in, const MatMulPorts& at) {
  const Shape &a = in.shape(at.a), &b = in.shape(at.b);
  Shape y = matmul_shape(in.op_name(), in.type(at.a), in.type(at.b));
  const int row_axis = static_cast<int>(a.size()) - 2, column_axis = static_cast<int>(b.size()) - 1;
  const Dim rows = a.size() == 1 ? Dim(1) : a[a.size() - 2];
  const Dim columns = b.size() == 1 ? Dim(1) : b.back();
  require_lines(in, at.a_zero, {"zero point of a", rows, row_axis});
  require_lines(in, at.b_zero, {"zero point of b", columns, column_axis});
  if (at.y_scale < 0) return y;
  require_lines(in, at.a_scale, {"scale of a", rows, row_axis});
  require_lines(in, at.b_scale, {"scale of b", columns, column_axis});
  require_lines(in, at.y_scale, {"scale of y", 1});
  require_lines(in, at.y_zero, {"zero point of y", 1});
  return y;
}

Offer offer_int8_product(const Request& request, const MatMulPorts& at) {
  const Operand &a = request.input(at.a), &b = request.input(at.b);
  const cpu::MatMulViews views = matrix_views(a, b, request.outputs[0]);
  const cpu::Int8Operands operands{views.a, views.b, views.y, nullptr,
                                   b.constant ? b.constant->data() : nullptr};
  std::string reason = int8_matmul_reason(operands);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const auto quantities = int8_quantities(request, {.a_zero = at.a_zero,
                                                    .b_zero = at.b_zero,
                                                    .a_scale = at.a_scale,
                                                    .b_scale = at.b_scale,
                                                    .y_scale = at.y_scale,
                                                    .y_zero = at.y_zero});
  return int8_offer(
      [=, threads = request.target.threads] {
        return prepare_int8_matmul(operands, quantities, threads);
      },
      at.a, at.b);
}

// Computes the sum for element (row, column) of matrix `batch` of y.
struct IntegerSums {
  cpu::MatMulViews views;
  MatMulPorts at;

  std::int32_t operator()(const ReferenceViews& in, std::int64_t batch, std::int64_t row,
                          std::int64_t column) const {
    const Dims &a = views.a.dims, &b = views.b.dims, &y = views.y.dims;
    const std::int64_t rows = a[a.size() - 2], depth = a.back(), columns = b.back();
    const std::int64_t a0 = (matrix_index(batch, y, a) * rows + row) * depth;
    const std::int64_t b0 = matrix_index(batch, y, b) * depth * columns + column;
    const ReferenceView &left = *view_at(in, at.a), &right = *view_at(in, at.b);
    const std::int64_t a_zero = int8_zero(in, at.a_zero, row),
                       b_zero = int8_zero(in, at.b_zero, column);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += (left.integer(a0 + k) - a_zero) * (right.integer(b0 + k * columns) - b_zero);
    return wrapped_int32(sum);
  }
};

Offer product_reference(const Request& request, const MatMulPorts& at) {
  const IntegerSums sums{matrix_views(request.input(at.a), request.input(at.b), request.outputs[0]),
                         at};
  return reference_offer(
      request, [=](const ReferenceViews& in, const ReferenceViews& out, const KernelCall&) {
        const Dims& y = sums.views.y.dims;
        const std::int64_t rows = y[y.size() - 2], columns = y.back();
        for (std::int64_t i = 0; i < out[0].size(); ++i) {
          const std::int64_t row = i / columns % rows, column = i % columns;
          const std::int32_t sum = sums(in, i / (rows * columns), row, column);
          if (at.y_scale < 0) {
            out[0].set_whole(i, sum);
            continue;
          }
          const auto several = [&](int input) { return view_at(in, input)->size() > 1; };
          const cpu::Int8Scales scales =
              cpu::int8_scales({int8_scale(in, at.a_scale, row), int8_scale(in, at.b_scale, column),
                                int8_scale(in, at.y_scale, 0)},
                               !several(at.a_scale), !several(at.b_scale));
          out[0].set(i, int8_quantised(sum, scales, int8_zero(in, at.y_zero, 0)));
        }
      });
}

Offer integer_tiles(const Request& request) { return offer_int8_product(request, integer_places); }
Offer matmul_integer_reference(const Request& request) {
  return product_reference(request, integer_places);
}
Offer linear_tiles(const Request& request) { return offer_int8_product(request, linear_places); }
Offer qlinear_matmul_reference(const Request& request) {
  return product_reference(request, linear_places);
}

constexpr Kernel matmul_integer_kernels[] = {{"int8", integer_tiles},
                                             {"reference", matmul_integer_reference}};
constexpr Kernel qlinear_matmul_kernels[] = {{"int8", linear_tiles},
                                             {"reference", qlinear_matmul_reference}};

}  // namespace

TensorTypes MatMulInteger::infer(const Inference& in) const {
  return {{DType::i32, product_of(in, integer_places)}};
}
TensorTypes QLinearMatMul::infer(const Inference& in) const {
  return {{in.dtype(linear_places.y_zero), product_of(in, linear_places)}};
}

double MatMulInteger::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return product_flops(out[0], in[0].shape.back());
}
double QLinearMatMul::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return product_flops(out[0], in[0].shape.back());
}

std::span<const Kernel> MatMulInteger::kernels() { return matmul_integer_kernels; }
std::span<const Kernel> QLinearMatMul::kernels() { return qlinear_matmul_kernels; }

}  // namespace narrowgauge

NG_OPS(matmul_integer, narrowgauge::MatMulInteger, narrowgauge::QLinearMatMul)
NG_NO_GRADIENT(matmul_integer, "whole numbers", narrowgauge::MatMulInteger,
               narrowgauge::QLinearMatMul)
