// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/depth_space.h"

#include "ops/control/composite.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void require_images(const Inference& in, std::int64_t blocksize) {
  require(in.rank(0) == 4, in.op_name(), ": expected images [N,C,H,W], got ", in.type(0));
  require(blocksize > 0, in.op_name(), ": blocksize must be positive, got ", blocksize);
}

void require_divisible(const Inference& in, const Dim& dim, const Dim& divisor) {
  require(!dim.is_known() || dim.value() % divisor.value() == 0, in.op_name(), ": ", divisor,
          " does not divide ", dim, " of ", in.type(0));
}

Value rearranged(Rewriting& r, const Shape& apart, Dims perm, const Shape& joined) {
  const Value x = r.add(ReshapeTo{apart}, {r.input(0)});
  return r.add(ReshapeTo{joined}, {r.add(Transpose{std::move(perm)}, {x})});
}

}  // namespace

TensorTypes DepthToSpace::infer(const Inference& in) const {
  require_images(in, blocksize);
  require(mode == "DCR" || mode == "CRD", "DepthToSpace: mode must be DCR or CRD, got '", mode,
          "'");
  const Shape& x = in.shape(0);
  const Dim b = blocksize;
  require_divisible(in, x[1], b * b);
  return {{in.dtype(0), {x[0], x[1] / (b * b), x[2] * b, x[3] * b}}};
}

Values DepthToSpace::decompose(Rewriting& r) const {
  const Shape& x = r.shape(r.input(0));
  const Dim b = blocksize, channels = x[1] / (b * b);
  const Shape joined{x[0], channels, x[2] * b, x[3] * b};
  if (mode == "CRD")
    return {rearranged(r, {x[0], channels, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, joined)};
  return {rearranged(r, {x[0], b, b, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, joined)};
}

TensorTypes SpaceToDepth::infer(const Inference& in) const {
  require_images(in, blocksize);
  const Shape& x = in.shape(0);
  const Dim b = blocksize;
  for (const std::size_t axis : {2, 3}) require_divisible(in, x[axis], b);
  return {{in.dtype(0), {x[0], x[1] * (b * b), x[2] / b, x[3] / b}}};
}

Values SpaceToDepth::decompose(Rewriting& r) const {
  const Shape& x = r.shape(r.input(0));
  const Dim b = blocksize, height = x[2] / b, width = x[3] / b;
  return {rearranged(r, {x[0], x[1], height, b, width, b}, {0, 3, 5, 1, 2, 4},
                     {x[0], x[1] * (b * b), height, width})};
}

std::span<const Kernel> DepthToSpace::kernels() { return composite_kernels(); }
std::span<const Kernel> SpaceToDepth::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(depth_space, narrowgauge::DepthToSpace, narrowgauge::SpaceToDepth)
