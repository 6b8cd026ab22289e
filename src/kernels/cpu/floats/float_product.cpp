// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_product.h"

#include "base/unloading.h"
#include "kernels/cpu/contraction/matmul_operands.h"
#include "kernels/cpu/floats/float_convolution.h"

namespace narrowgauge::cpu {
namespace {

// Rows of a are pixels of one image, and columns of b are output channels.
ConvolutionViews convolution_of(const MatMulOperands& product, const std::optional<View>& bias) {
  const View &a = product.a, &b = product.b, &y = product.y;
  const std::int64_t rows = y.dims[0], columns = y.dims[1], depth = a.dims[1];
  return {View{a.dtype, {1, depth, rows}, {rows * depth, a.strides[1], a.strides[0]}},
          View{b.dtype, {columns, depth, 1}, {b.strides[1], b.strides[0], 1}},
          View{y.dtype, {1, columns, rows}, {rows * columns, y.strides[1], y.strides[0]}}, bias};
}

const ConvolutionWindow& single_pixels =
    immortal<ConvolutionWindow>(ConvolutionWindow{{1}, {1}, {0}, {0}});

}  // namespace

std::string float_product_reason(const MatMulViews& views, const std::vector<int>& lasting,
                                 Isa isa) {
  if (element_count(views.y.dims) == 0 || views.a.dims.back() == 0) return "nothing to compute";
  const MatMulOperands product = matmul_operands(views);
  if (product.batch_rank() > 0) return "several matrices";
  return float_convolution_reason(convolution_of(product, views.bias), single_pixels, lasting, isa);
}

Prepared prepare_float_product(const MatMulViews& views, const ContractionOptions& options) {
  return prepare_float_convolution(convolution_of(matmul_operands(views), views.bias),
                                   single_pixels, {}, options);
}

}  // namespace narrowgauge::cpu
