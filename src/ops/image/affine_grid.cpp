// SPDX-License-Identifier: Apache-2.0
#include "ops/image/affine_grid.h"

#include <algorithm>

#include "ops/control/composite.h"
#include "ops/math/matmul.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Shape grid_shape(const Dim& batch, const Dims& size) {
  Shape shape{batch};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(static_cast<std::int64_t>(size.size() - 2));
  return shape;
}

// Rows (x, y, 1) or (x, y, z, 1) of all pixels.
Tensor pixels(const Dims& spatial, bool align_corners, DType dtype) {
  const auto axes = static_cast<std::int64_t>(spatial.size());
  Tensor rows(dtype, {element_count(spatial), axes + 1});
  for (std::int64_t i = 0; i < element_count(spatial); ++i) {
    const Dims place = position_of(i, spatial);
    for (std::int64_t k = 0; k < axes; ++k) {
      const auto axis = static_cast<std::size_t>(axes - 1 - k);
      const auto at = static_cast<double>(place[axis]), size = static_cast<double>(spatial[axis]);
      const double corner = spatial[axis] > 1 ? 2 * at / (size - 1) - 1 : -1;
      rows.set(i * (axes + 1) + k, align_corners ? corner : (2 * at + 1) / size - 1);
    }
    rows.set(i * (axes + 1) + axes, 1);
  }
  return rows;
}

}  // namespace

TensorTypes AffineGrid::infer(const Inference& in) const {
  const Dims size = constant_integers(in, 1, "size");
  const Shape& theta = in.shape(0);
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  require(
      (axes == 2 || axes == 3) && theta.size() == 3 && theta[1] == Dim(axes) &&
          theta[2] == Dim(axes + 1),
      "AffineGrid: expected theta [N,2,3] with a size of 4 values or [N,3,4] with one of 5, got ",
      in.type(0), " and ", size);
  require(std::all_of(size.begin(), size.end(),
                      [](std::int64_t s) { return s >= 0 && s <= INT32_MAX; }) &&
              (!theta[0].is_known() || theta[0] == Dim(size[0])),
          "AffineGrid: size ", size, " does not fit theta ", in.type(0));
  return {{in.dtype(0), grid_shape(theta[0], size)}};
}

Values AffineGrid::decompose(Rewriting& r) const {
  const Value theta = r.input(0);
  const Dims size = integers_of(*r.graph().constant_value(r.input(1)));
  const Value rows = r.constant(
      pixels(Dims(size.begin() + 2, size.end()), align_corners != 0, r.type(theta).dtype));
  const Value places = r.add(FusedMatMul{false, true}, {rows, theta});
  return {r.add(ReshapeTo{grid_shape(r.shape(theta)[0], size)}, {places})};
}

std::span<const Kernel> AffineGrid::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(affine_grid, narrowgauge::AffineGrid)
