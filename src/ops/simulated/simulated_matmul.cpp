// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "ops/offers/product.h"
#include "ops/pointwise/in_dtype.h"
#include "ops/units/simulated.h"
#include "ops/units/simulated_sums.h"

namespace narrowgauge {

namespace {

// Where an operand's matrix for matrix `batch` of y begins, in elements; axes of size 1 broadcast.
std::int64_t matrix_offset(std::int64_t batch, const Dims& y, const cpu::View& operand) {
  std::int64_t offset = 0;
  for (std::size_t i = 3; i <= y.size(); ++i) {
    const std::int64_t place = batch % y[y.size() - i];
    batch /= y[y.size() - i];
    const std::size_t rank = operand.dims.size();
    if (i <= rank && operand.dims[rank - i] > 1) offset += place * operand.strides[rank - i];
  }
  return offset;
}

SimulatedProduct product_of(const cpu::MatMulViews& views) {
  const std::size_t a = views.a.dims.size() - 2, b = views.b.dims.size() - 2;
  SimulatedProduct product;
  product.a.line_outer = {views.a.dims[a], views.a.strides[a]};
  product.a.depth_inner = {views.a.dims[a + 1], views.a.strides[a + 1]};
  product.b.line_outer = {views.b.dims[b + 1], views.b.strides[b + 1]};
  product.b.depth_inner = {views.b.dims[b], views.b.strides[b]};
  const Dims& y = views.y.dims;
  const std::int64_t batches = element_count(std::span(y).first(y.size() - 2));
  for (std::int64_t i = 0; i < batches; ++i)
    product.batches.push_back({matrix_offset(i, y, views.a), matrix_offset(i, y, views.b)});
  return product;
}

}  // namespace

Offer simulated_product(const ProductRequest& given) {
  const Request& request = given.request;
  std::string reason = simulated_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const cpu::MatMulViews& views = given.views;
  SimulatedProduct product = product_of(views);
  if (given.epilogue) {
    product.finish = [epilogue = *given.epilogue](const KernelCall& call, void* sums) {
      const void* const c = call.inputs.size() > 2 ? call.inputs[2].data : nullptr;
      cpu::gemm_epilogue(epilogue, sums, c, call.outputs[0].data, call.flushed_at(0));
    };
  } else {
    const cpu::View sums = cpu::dense_view(statistics_dtype(views.y.dtype), views.y.dims);
    product.finish = [sums, y = views.y](const KernelCall& call, void* values) {
      store_sums(sums, values, y, call.outputs[0].data, call.flushed_at(0));
    };
  }
  return offer_simulated(request, std::move(product));
}

}  // namespace narrowgauge
