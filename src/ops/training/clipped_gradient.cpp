// SPDX-License-Identifier: Apache-2.0
#include "ops/training/clipped_gradient.h"

#include <cmath>

#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/min_max.h"
#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes ClippedGradient::infer(const Inference& in) const {
  require(limit > 0 && std::isfinite(limit),
          "ClippedGradient: expected a finite limit above 0, got ", limit);
  require(in.rank(1) == 0, "ClippedGradient: expected a scalar as multiplier, got ", in.type(1));
  return {{statistics_dtype(in.dtype(0)), in.shape(0)}};
}

Values ClippedGradient::decompose(Rewriting& r) const {
  const Expression gradient = widened(r, r.input(0));
  const DType dtype = r.type(gradient).dtype;
  const Expression unscaled = gradient * in_dtype(r, r.input(1), dtype);
  return {r.add(Clip{}, {unscaled, r.scalar(-limit, dtype), r.scalar(limit, dtype)})};
}

std::span<const Kernel> ClippedGradient::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(clipped_gradient, narrowgauge::ClippedGradient)
NG_NO_GRADIENT(clipped_gradient, "update of weights", narrowgauge::ClippedGradient)
