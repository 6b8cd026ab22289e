// SPDX-License-Identifier: Apache-2.0
#include "ops/math/cast_like.h"

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/math/cast.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes CastLike::infer(const Inference& in) const {
  const Cast cast{.to = in.dtype(1), .saturate = saturate, .round_mode = round_mode};
  return cast.infer(in);
}

Values CastLike::decompose(Rewriting& r) const {
  const DType to = r.type(r.input(1)).dtype;
  return {r.add(Cast{.to = to, .saturate = saturate, .round_mode = round_mode}, {r.input(0)})};
}

std::span<const Kernel> CastLike::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(cast_like, narrowgauge::CastLike)
