// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/lp_normalization.h"

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/math/reduce.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes LpNormalization::infer(const Inference& in) const {
  normalize_axis("LpNormalization", axis, in.rank(0));
  require(p == 1 || p == 2, "LpNormalization: p must be 1 or 2, got ", p);
  return {in.type(0)};
}

Values LpNormalization::decompose(Rewriting& r) const {
  const Expression x(r, r.input(0));
  const Value axes = r.constant(list_of(Dims{axis}));
  const Expression norm = p == 1 ? x.apply(ReduceL1{}, axes) : x.apply(ReduceL2{}, axes);
  return {x / where(norm == 0, 1, norm)};
}

TensorTypes MeanVarianceNormalization::infer(const Inference& in) const {
  normalize_axes("MeanVarianceNormalization", axes, in.rank(0));
  return {in.type(0)};
}

Values MeanVarianceNormalization::decompose(Rewriting& r) const {
  if (axes.empty()) return {Expression(r, r.input(0)) * 0.0};
  const Value along = r.constant(list_of(axes));
  const Expression x(r, r.input(0));
  const Expression centred = x - x.apply(ReduceMean{}, along);
  const Expression variance = (centred * centred).apply(ReduceMean{}, along);
  return {centred / (sqrt(variance) + 1e-9)};
}

std::span<const Kernel> LpNormalization::kernels() { return composite_kernels(); }
std::span<const Kernel> MeanVarianceNormalization::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(lp_normalization, narrowgauge::LpNormalization, narrowgauge::MeanVarianceNormalization)
