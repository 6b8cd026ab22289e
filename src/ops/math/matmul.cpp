// SPDX-License-Identifier: Apache-2.0
#include "ops/math/matmul.h"

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/elementwise/elementwise.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/matrix_shapes.h"
#include "ops/offers/contraction.h"
#include "ops/offers/product.h"
#include "ops/reference.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void exchange_last(auto& values) {
  std::swap(values[values.size() - 1], values[values.size() - 2]);
}

}  // namespace

TensorTypes MatMul::infer(const Inference& in) const {
  return {{in.dtype(0), matmul_shape("MatMul", in.type(0), in.type(1))}};
}

TensorTypes FusedMatMul::infer(const Inference& in) const {
  Shape a = in.shape(0), b = in.shape(1);
  require(a.size() >= 2 && b.size() >= 2, "FusedMatMul: expected operands of rank 2 or more, got ",
          in.type(0), " and ", in.type(1));
  if (transA) exchange_last(a);
  if (transB) exchange_last(b);
  return {{in.dtype(0), product_shape("FusedMatMul", a, b)}};
}

namespace {

Value matmul(Gradient& g, Value a, bool transpose_a, Value b, bool transpose_b) {
  return g.add(FusedMatMul{transpose_a, transpose_b}, {a, b});
}

// [..., K] as one matrix of all rows, [rows, K].
Value as_rows(Gradient& g, Value x) {
  const Shape& shape = g.shape(x);
  const Dim rows = element_count(Shape(shape.begin(), shape.end() - 1));
  return g.add(ReshapeTo{Shape{rows, shape.back()}}, {x});
}

// The gradients of y = op(a) op(b) for operands of rank 2 or more.
Values product_gradient(Gradient& g, const FusedMatMul& op, Value a, Value b, Value dy) {
  Values gradients(2);
  if (g.wants(0)) {
    const Value da =
        op.transA ? matmul(g, b, op.transB, dy, true) : matmul(g, dy, false, b, !op.transB);
    gradients[0] = reduce_to(g, da, a);
  }
  if (!g.wants(1)) return gradients;
  // If one matrix meets a whole batch, one product sums over the batch.
  if (g.shape(b).size() == 2 && g.shape(a).size() > 2 && !op.transA) {
    a = as_rows(g, a);
    dy = as_rows(g, dy);
  }
  const Value db =
      op.transB ? matmul(g, dy, true, a, op.transA) : matmul(g, a, !op.transA, dy, false);
  gradients[1] = reduce_to(g, db, b);
  return gradients;
}

Value reshaped(Gradient& g, Value x, const Shape& shape) {
  return g.shape(x) == shape ? x : g.add(ReshapeTo{shape}, {x});
}

}  // namespace

Values MatMul::gradient(Gradient& g) const {
  const Shape a = g.shape(g.input(0)), b = g.shape(g.input(1));
  const Shape a_matrix = as_matrix(a, true), b_matrix = as_matrix(b, false);
  const Value dy = reshaped(g, g.output_gradient(), product_shape("MatMul", a_matrix, b_matrix));
  Values gradients = product_gradient(g, {}, reshaped(g, g.input(0), a_matrix),
                                      reshaped(g, g.input(1), b_matrix), dy);
  if (g.wants(0)) gradients[0] = reshaped(g, gradients[0], a);
  if (g.wants(1)) gradients[1] = reshaped(g, gradients[1], b);
  return gradients;
}

Values FusedMatMul::gradient(Gradient& g) const {
  return product_gradient(g, *this, g.input(0), g.input(1), g.output_gradient());
}

double MatMul::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return product_flops(out[0], in[0].shape.back());
}

double FusedMatMul::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  const Shape& a = in[0].shape;
  return product_flops(out[0], a[a.size() - (transA ? 2 : 1)]);
}

namespace {

cpu::MatMulViews matmul_views(const Request& request, bool transpose_a, bool transpose_b) {
  cpu::MatMulViews views = matrix_views(request.inputs[0], request.inputs[1], request.outputs[0]);
  for (cpu::View* view : {transpose_a ? &views.a : nullptr, transpose_b ? &views.b : nullptr}) {
    if (!view) continue;
    exchange_last(view->dims);
    exchange_last(view->strides);
  }
  return views;
}

ProductRequest matmul_request(const Request& request) {
  return {request, matmul_views(request, false, false)};
}

ProductRequest fused_matmul_request(const Request& request) {
  const auto& op = request.as<FusedMatMul>();
  return {request, matmul_views(request, op.transA, op.transB)};
}

// Dense row-major indices suffice for the reference: a vector is a matrix of one row or column.
Offer product_reference(const Request& request, bool transpose_a, bool transpose_b) {
  cpu::MatMulViews views = matmul_views(request, transpose_a, transpose_b);
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const Dims &a = views.a.dims, &b = views.b.dims, &y = views.y.dims;
    const std::int64_t rows = y[y.size() - 2], columns = y.back(), depth = a.back();
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      const std::int64_t batch = i / (rows * columns), m = i / columns % rows, n = i % columns;
      const std::int64_t a0 = matrix_index(batch, y, a) * rows * depth;
      const std::int64_t b0 = matrix_index(batch, y, b) * depth * columns;
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += in[0][a0 + (transpose_a ? k * rows + m : m * depth + k)] *
               in[1][b0 + (transpose_b ? n * depth + k : k * columns + n)];
      out[0].set(i, sum);
    }
  });
}

Offer matmul_reference(const Request& request) { return product_reference(request, false, false); }

Offer fused_matmul_reference(const Request& request) {
  const auto& op = request.as<FusedMatMul>();
  return product_reference(request, op.transA, op.transB);
}

}  // namespace

std::span<const Kernel> MatMul::kernels() {
  return contraction_kernels<product_kernels, matmul_request, matmul_reference>();
}
std::span<const Kernel> FusedMatMul::kernels() {
  return contraction_kernels<product_kernels, fused_matmul_request, fused_matmul_reference>();
}

}  // namespace narrowgauge

NG_OPS(matmul, narrowgauge::MatMul, narrowgauge::FusedMatMul)
