// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/lp_pool.h"

#include <cmath>
#include <numeric>

#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"
#include "ops/nn/average_pool.h"
#include "ops/shape/axes.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes GlobalMaxPool::infer(const Inference& in) const {
  const Shape& x = in.shape(0);
  require(x.size() >= 3, "GlobalMaxPool: expected x [N, C, spatial...], got ", in.type(0));
  Shape y(x.size(), 1);
  std::copy_n(x.begin(), 2, y.begin());
  return {{in.dtype(0), y}};
}

Values GlobalMaxPool::decompose(Rewriting& r) const {
  Dims axes(r.shape(r.input(0)).size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return {r.add(ReduceMax{}, {r.input(0), r.constant(list_of(axes))})};
}

TensorTypes LpPool::infer(const Inference& in) const {
  require(p >= 1, "LpPool: p must be at least 1, got ", p);
  require(ceil_mode == 0 || is_known(in.shape(0)), "LpPool: ceil_mode needs known sizes, got ",
          in.type(0));
  return {{in.dtype(0), pool_shape(*this, in.shape(0))}};
}

namespace {

// A window that reaches beyond the end pads under ceil_mode, with pads that hold it.
AveragePool with_longer_pads(AveragePool pool, const Dims& x, const Dims& y) {
  const Window window = resolve_window(pool_window(pool), x);
  pool.auto_pad = "NOTSET";
  pool.ceil_mode = 0;
  pool.pads = window.pads_begin;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t end = (y[i] - 1) * window.strides[i] +
                             (window.kernel[i] - 1) * window.dilations[i] + 1 - x[i] -
                             window.pads_begin[i];
    pool.pads.push_back(std::max(window.pads_end[i], end));
  }
  return pool;
}

Expression power(Expression x, std::int64_t p) {
  if (p == 1) return x;
  return p == 2 ? x * x : pow(x, x.number(static_cast<double>(p)));
}

Expression root(Expression x, std::int64_t p) {
  if (p == 1) return x;
  return p == 2 ? sqrt(x) : pow(x, x.number(1 / static_cast<double>(p)));
}

}  // namespace

Values LpPool::decompose(Rewriting& r) const {
  const Shape x = r.shape(r.input(0));
  AveragePool mean{.auto_pad = auto_pad,
                   .count_include_pad = 1,
                   .dilations = dilations,
                   .kernel_shape = kernel_shape,
                   .pads = pads,
                   .strides = strides};
  if (ceil_mode != 0) {
    mean.ceil_mode = 1;
    mean = with_longer_pads(mean, known_dims(spatial_part(x)),
                            known_dims(spatial_part(pool_shape(*this, x))));
  }
  const Expression powers = power(widened(r, r.input(0)).apply(Abs{}), p);
  const Expression sum = powers.apply(mean) * static_cast<double>(element_count(kernel_shape));
  return {in_dtype(r, root(sum, p), r.type(r.input(0)).dtype)};
}

TensorTypes LRN::infer(const Inference& in) const {
  require(in.rank(0) >= 3, "LRN: expected x [N, C, ...] of rank 3 or more, got ", in.type(0));
  require(size >= 1 && size <= INT32_MAX, "LRN: size must be at least 1 and below 2^31, got ",
          size);
  require(std::isfinite(alpha) && std::isfinite(beta) && std::isfinite(bias),
          "LRN: alpha, beta and bias must be finite, got ", alpha, ", ", beta, " and ", bias);
  return {in.type(0)};
}

Values LRN::decompose(Rewriting& r) const {
  const Shape shape = r.shape(r.input(0));
  const Expression x = widened(r, r.input(0));
  const Dim rest = element_count(spatial_part(shape));
  const Value columns = r.add(ReshapeTo{Shape{shape[0], 1, shape[1], rest}}, {x * x});
  const std::int64_t before = (size - 1) / 2;
  const Value mean = r.add(AveragePool{.count_include_pad = 1,
                                       .kernel_shape = {size, 1},
                                       .pads = {before, 0, size - 1 - before, 0}},
                           {columns});
  const Expression scale = bias + alpha * Expression{r, r.add(ReshapeTo{shape}, {mean})};
  return {in_dtype(r, x / pow(scale, scale.number(beta)), r.type(r.input(0)).dtype)};
}

std::span<const Kernel> GlobalMaxPool::kernels() { return composite_kernels(); }
std::span<const Kernel> LpPool::kernels() { return composite_kernels(); }
std::span<const Kernel> LRN::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(lp_pool, narrowgauge::GlobalMaxPool, narrowgauge::LpPool, narrowgauge::LRN)
