// SPDX-License-Identifier: Apache-2.0
#include "ops/math/gemm.h"

#include <algorithm>
#include <utility>

#include "narrowgauge/graph.h"
#include "ops/elementwise/elementwise.h"
#include "ops/math/arithmetic.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/offers/contraction.h"
#include "ops/offers/product.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Gemm::infer(const Inference& in) const {
  for (const int i : {0, 1})
    require(in.rank(i) == 2, "Gemm: expected a matrix as input '", i == 0 ? 'a' : 'b', "', got ",
            in.type(i));
  const Shape &a = in.shape(0), &b = in.shape(1);
  require(a[transA ? 0 : 1] == b[transB ? 1 : 0], "Gemm: a ", a, " and b ", b,
          " do not share the axis to sum over");
  const Shape y{a[transA ? 1 : 0], b[transB ? 0 : 1]};
  if (in.has(2))
    require(in.rank(2) <= 2 && broadcast_shapes("Gemm", in.shape(2), y) == y, "Gemm: c ",
            in.shape(2), " does not broadcast to ", y);
  return {{in.dtype(0), y}};
}

Values Gemm::gradient(Gradient& g) const {
  const Value a = g.input(0), b = g.input(1), dy = g.output_gradient();
  const auto product = [&](Value left, bool transpose_left, Value right, bool transpose_right) {
    return g.add(Gemm{alpha, 1, transpose_left, transpose_right}, {left, right});
  };
  Values gradients(3);
  if (g.wants(0))
    gradients[0] = transA ? product(b, transB != 0, dy, true) : product(dy, false, b, transB == 0);
  if (g.wants(1))
    gradients[1] = transB ? product(dy, true, a, transA != 0) : product(a, transA == 0, dy, false);
  if (!g.wants(2)) return gradients;
  const DType dtype = g.type(dy).dtype;
  gradients[2] = reduce_to(g, dy, g.input(2));
  if (beta != 1) gradients[2] = g.add(Mul{}, {gradients[2], g.scalar(beta, dtype)});
  return gradients;
}

double Gemm::flops(std::span<const TensorType> in, std::span<const TensorType> out) const {
  return 2.0 * static_cast<double>(element_count(known_dims(out[0].shape))) *
         static_cast<double>(in[0].shape[transA ? 0 : 1].value());
}

namespace {

bool has_c(const Request& request) {
  return request.inputs.size() > 2 && request.inputs[2].present;
}

cpu::View exchanged(cpu::View view) {
  std::swap(view.dims[0], view.dims[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

cpu::MatMulViews gemm_views(const Request& request) {
  const Gemm& op = request.as<Gemm>();
  const cpu::View a = kernel_view(request.inputs[0]), b = kernel_view(request.inputs[1]);
  return {op.transA ? exchanged(a) : a,
          op.transB ? exchanged(b) : b,
          kernel_view(request.outputs[0]),
          {}};
}

// Whether c can be the kernel's bias of one value per column.
bool is_row(const Operand& c, const Dims& y) {
  return !c.dims.empty() && c.dims.back() == y[1] && (c.dims.size() == 1 || c.dims[0] == 1);
}

// c with y's dims; strides are 0 where it repeats.
cpu::View broadcast(const Operand& c, const Dims& y) {
  cpu::View view{c.dtype, y, Dims(2, 0)};
  for (std::size_t i = 1; i <= c.dims.size(); ++i)
    if (c.dims[c.dims.size() - i] != 1) view.strides[2 - i] = c.strides[c.dims.size() - i];
  return view;
}

cpu::GemmEpilogue epilogue_of(const Request& request, const cpu::View& y) {
  const Gemm& op = request.as<Gemm>();
  cpu::GemmEpilogue epilogue{op.alpha, op.beta, {}, y};
  if (has_c(request) && op.beta != 0) epilogue.c = broadcast(request.inputs[2], y.dims);
  return epilogue;
}

// Why the result is not a product and a row that is added to it; "" if it is.
std::string scaled_reason(const Request& request) {
  const Gemm& op = request.as<Gemm>();
  if (op.alpha != 1) return concat("alpha ", op.alpha);
  if (!has_c(request) || op.beta == 0) return {};
  if (op.beta != 1) return concat("beta ", op.beta);
  if (!is_row(request.inputs[2], request.outputs[0].dims))
    return concat("c ", request.inputs[2].dims);
  return {};
}

ProductRequest product_request(const Request& request) {
  ProductRequest product{request, gemm_views(request)};
  product.epilogue = epilogue_of(request, product.views.y);
  product.scaled = scaled_reason(request);
  if (product.scaled.empty() && has_c(request) && request.as<Gemm>().beta != 0) {
    const Operand& row = request.inputs[2];
    product.inputs.push_back(2);
    product.views.bias = cpu::View{row.dtype, {row.dims.back()}, {row.strides.back()}};
  }
  return product;
}

Offer gemm_reference(const Request& request) {
  const Gemm op = request.as<Gemm>();
  const bool c = has_c(request);
  const Dims strides =
      c ? broadcast({DType::f32, request.inputs[2].dims, dense_strides(request.inputs[2].dims)},
                    request.outputs[0].dims)
              .strides
        : Dims(2, 0);
  return reference_offer(request, [=](const auto& in, const auto& out, const KernelCall&) {
    const std::int64_t rows = out[0].dims()[0], columns = out[0].dims()[1];
    const std::int64_t depth = in[0].dims()[op.transA ? 0 : 1];
    for (std::int64_t m = 0; m < rows; ++m)
      for (std::int64_t n = 0; n < columns; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += in[0][op.transA ? k * rows + m : m * depth + k] *
                 in[1][op.transB ? n * depth + k : k * columns + n];
        sum *= op.alpha;
        if (c) sum += op.beta * in[2][m * strides[0] + n * strides[1]];
        out[0].set(m * columns + n, sum);
      }
  });
}

}  // namespace

std::span<const Kernel> Gemm::kernels() {
  return contraction_kernels<product_kernels, product_request, gemm_reference>();
}

}  // namespace narrowgauge

NG_OPS(gemm, narrowgauge::Gemm)
