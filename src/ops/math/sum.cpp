// SPDX-License-Identifier: Apache-2.0
#include "ops/math/sum.h"

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> sum_samples() {
  return {{{}, {sample("f32[2,3,5]"), sample("f32[2,3,5]")}},
          {{}, {sample("f32[5]")}},
          {{}, {sample("f32[3,1]"), sample("f32[4]"), sample("f32[]"), sample("f32[3,4]")}}};
}

}  // namespace

Values Sum::gradient(Gradient& g) const {
  Values result;
  for (int i = 0; i < g.input_count(); ++i)
    result.push_back(g.wants(i) ? reduce_to(g, g.output_gradient(), g.input(i)) : absent);
  return result;
}

Values Mean::decompose(Rewriting& r) const {
  Values inputs;
  for (int i = 0; i < r.input_count(); ++i) inputs.push_back(r.input(i));
  return {Expression(r, r.add(Sum{}, inputs)) / static_cast<double>(inputs.size())};
}

std::vector<Sample<Sum>> Sum::samples() { return sum_samples<Sum>(); }
std::vector<Sample<Mean>> Mean::samples() { return sum_samples<Mean>(); }
std::span<const Kernel> Mean::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(sum, narrowgauge::Sum, narrowgauge::Mean)
