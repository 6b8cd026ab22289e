// SPDX-License-Identifier: Apache-2.0
#include "ops/math/bitwise.h"

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/math/arithmetic.h"
#include "ops/math/exponential.h"
#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes BitShift::infer(const Inference& in) const {
  require(direction == "LEFT" || direction == "RIGHT",
          "BitShift: direction must be LEFT or RIGHT, got '", direction, "'");
  return elementwise_types(in);
}

// By products and quotients. Beyond the bits of the dtype the power is 0, and so are both results.
Values BitShift::decompose(Rewriting& r) const {
  const Value power = r.add(Pow{}, {r.scalar(2, r.type(r.input(0)).dtype), r.input(1)});
  if (direction == "LEFT") return {r.add(Mul{}, {r.input(0), power})};
  return {r.add(Div{}, {r.input(0), power})};
}

std::span<const Kernel> BitShift::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(bitwise, narrowgauge::BitwiseAnd, narrowgauge::BitwiseOr, narrowgauge::BitwiseXor,
       narrowgauge::BitwiseNot, narrowgauge::BitShift)
NG_NO_GRADIENT(bitwise, "whole numbers", narrowgauge::BitwiseAnd, narrowgauge::BitwiseOr,
               narrowgauge::BitwiseXor, narrowgauge::BitwiseNot, narrowgauge::BitShift)
