// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/rms_normalization.h"

#include "ops/control/composite.h"
#include "ops/nn/normalized_rows.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes RMSNormalization::infer(const Inference& in) const {
  normalize_axis("RMSNormalization", axis, in.shape(0).size());
  require(broadcast_shapes("RMSNormalization", in.shape(0), in.shape(1)) == in.shape(0),
          "RMSNormalization: expected a scale that broadcasts to x ", in.type(0), ", got ",
          in.type(1));
  require(epsilon > 0, "RMSNormalization: epsilon must be positive, got ", epsilon);
  require(stash_type == 1, "RMSNormalization: stash_type must be 1 (f32), got ", stash_type);
  return {{in.dtype(1), in.shape(0)}};
}

Values RMSNormalization::decompose(Rewriting& r) const {
  const NormalizedRows rows(r, r.input(0), axis);
  const Expression x = rows.wide(r.input(0));
  const Expression normal = x / sqrt(rows.mean(x * x) + epsilon);
  const DType of_scale = r.type(r.input(1)).dtype;
  return {rows.cast(rows.cast(normal, r.type(r.input(0)).dtype), of_scale) *
          Expression{r, r.input(1)}};
}

std::span<const Kernel> RMSNormalization::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(rms_normalization, narrowgauge::RMSNormalization)
