// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/one_hot.h"

#include <numeric>

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/math/cast.h"
#include "ops/math/comparison.h"
#include "ops/math/where.h"
#include "ops/shape/axes.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes OneHot::infer(const Inference& in) const {
  const Dims depth = constant_integers(in, 1, "depth");
  require(depth.size() == 1 && depth[0] > 0 && depth[0] <= Tensor::most_elements,
          "OneHot: expected one depth from 1 to ", Tensor::most_elements, ", got ", depth);
  require(in.shape(2) == Shape{2}, "OneHot: expected two values, got ", in.type(2));
  Shape shape = in.shape(0);
  shape.insert(shape.begin() + normalize_axis("OneHot", axis, in.rank(0) + 1), depth[0]);
  return {{in.dtype(2), shape}};
}

Values OneHot::decompose(Rewriting& r) const {
  const std::int64_t depth = integers_of(*r.graph().constant_value(r.input(1)))[0];
  Shape column = r.shape(r.input(0));
  const std::size_t along = normalize_axis("OneHot", axis, column.size() + 1);
  column.insert(column.begin() + static_cast<std::ptrdiff_t>(along), 1);
  Dims places(static_cast<std::size_t>(depth)), row(column.size(), 1);
  std::iota(places.begin(), places.end(), 0);
  row[along] = depth;

  Value indices = r.input(0);
  if (r.type(indices).dtype != DType::i64) indices = r.add(Cast{.to = DType::i64}, {indices});
  const Expression index(r, r.add(ReshapeTo{column}, {indices}));
  const Expression from_start = where(index < 0, index + static_cast<double>(depth), index);
  const Value hit = r.add(Equal{}, {from_start, r.constant(list_of(places).reshaped(row))});
  const Value off = r.add(Split{.axis = 0, .num_outputs = 2}, {r.input(2)});
  const Value number_on = r.add(ReshapeTo{}, {Value{off.node, 1}});
  return {r.add(Where{}, {hit, number_on, r.add(ReshapeTo{}, {off})})};
}

std::span<const Kernel> OneHot::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(one_hot, narrowgauge::OneHot)
