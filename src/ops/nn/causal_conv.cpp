// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/causal_conv.h"

#include "ops/activation/swish.h"
#include "ops/control/composite.h"
#include "ops/nn/conv.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes CausalConvWithState::infer(const Inference& in) const {
  require(activation == "none" || activation == "silu" || activation == "swish",
          "CausalConvWithState: activation must be none, silu or swish, got '", activation, "'");
  const Shape &x = in.shape(0), &w = in.shape(1);
  require(x.size() == 3 && w.size() == 3 && w[0] == x[1] && w[1] == Dim(1) && w[0].is_known() &&
              w[0].value() > 0 && w[2].is_known() && w[2].value() > 0,
          "CausalConvWithState: expected x [N,C,T] and w [C,1,k], got ", in.type(0), " and ",
          in.type(1));
  require(!(x[2] == Dim(0)), "CausalConvWithState: x ", in.type(0), " has no steps");
  if (in.has(2))
    require(in.shape(2) == Shape{x[1]}, "CausalConvWithState: expected b of ", x[1],
            " values, got ", in.type(2));
  const Shape state{x[0], x[1], w[2] - 1};
  if (in.has(3))
    require(in.shape(3) == state, "CausalConvWithState: expected past_state ", state, ", got ",
            in.type(3));
  return {in.type(0), {in.dtype(0), state}};
}

Values CausalConvWithState::decompose(Rewriting& r) const {
  const Value x = r.input(0), w = r.input(1);
  const Shape shape = r.shape(x);
  const Dim carried = r.shape(w)[2] - 1;
  const Value past = r.has_input(3) ? r.input(3)
                                    : r.add(ExpandTo{Shape{shape[0], shape[1], carried}},
                                            {r.scalar(0, r.type(x).dtype)});
  const Value all = r.add(Concat{2}, {past, x});
  const Value pieces = r.add(ConcatGradient{2, {shape[2], carried}}, {all});
  Value y = r.add(Conv{.group = shape[1].value()}, {all, w, r.input(2)});
  if (activation != "none") y = r.add(Swish{}, {y});
  return {y, {pieces.node, 1}};
}

std::span<const Kernel> CausalConvWithState::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(causal_conv, narrowgauge::CausalConvWithState)
