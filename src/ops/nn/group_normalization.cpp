// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/group_normalization.h"

#include "ops/control/composite.h"
#include "ops/nn/normalized_rows.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void check_group_normalization(const Inference& in, double epsilon) {
  const Shape& x = in.shape(0);
  require(x.size() >= 3, in.op_name(), ": expected x [N, C, ...] of rank 3 or more, got ",
          in.type(0));
  for (const int input : {1, 2})
    require(in.shape(input) == Shape{x[1]}, in.op_name(), ": expected input ", input, " of ", x[1],
            " values, one for each channel, got ", in.type(input));
  require(epsilon > 0, in.op_name(), ": epsilon must be positive, got ", epsilon);
}

Value normalize_groups(Rewriting& r, const Dim& groups, double epsilon) {
  const Value x = r.input(0);
  const Shape shape = r.shape(x);
  const Dim rest = element_count(Shape(shape.begin() + 1, shape.end())) / groups;
  const Value grouped = r.add(ReshapeTo{Shape{shape[0], groups, rest}}, {x});
  const NormalizedRows rows(r, grouped, 2);
  const Expression wide = rows.wide(grouped);
  const Expression centred = wide - rows.mean(wide);
  const Expression normal = centred / sqrt(rows.mean(centred * centred) + epsilon);
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  const auto of_channels = [&](int input) {
    return rows.wide(r.add(ReshapeTo{channels}, {r.input(input)}));
  };
  const Expression y = Expression{r, r.add(ReshapeTo{shape}, {normal})} * of_channels(1);
  return rows.cast(y + of_channels(2), r.type(x).dtype);
}

}  // namespace

TensorTypes GroupNormalization::infer(const Inference& in) const {
  check_group_normalization(in, epsilon);
  const Dim& channels = in.shape(0)[1];
  require(num_groups >= 1 && channels.is_known() && channels.value() % num_groups == 0,
          "GroupNormalization: num_groups ", num_groups, " does not divide ", channels,
          " channels");
  require(stash_type == 1, "GroupNormalization: stash_type must be 1 (f32), got ", stash_type);
  return {in.type(0)};
}

TensorTypes InstanceNormalization::infer(const Inference& in) const {
  check_group_normalization(in, epsilon);
  require(!(in.shape(0)[1] == Dim(0)), "InstanceNormalization: x ", in.type(0), " has no channels");
  return {in.type(0)};
}

Values GroupNormalization::decompose(Rewriting& r) const {
  return {normalize_groups(r, num_groups, epsilon)};
}

Values InstanceNormalization::decompose(Rewriting& r) const {
  return {normalize_groups(r, r.shape(r.input(0))[1], epsilon)};
}

std::span<const Kernel> GroupNormalization::kernels() { return composite_kernels(); }
std::span<const Kernel> InstanceNormalization::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(group_normalization, narrowgauge::GroupNormalization, narrowgauge::InstanceNormalization)
