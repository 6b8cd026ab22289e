// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/gather.h"

#include "narrowgauge/graph.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather_kernels.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Shape gathered_shape(std::string_view op, const Shape& data, const Shape& indices,
                     std::int64_t axis) {
  const auto along = static_cast<std::ptrdiff_t>(normalize_axis(op, axis, data.size()));
  Shape shape(data.begin(), data.begin() + along);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + along + 1, data.end());
  return shape;
}

}  // namespace

TensorTypes Gather::infer(const Inference& in) const {
  return {{in.dtype(0), gathered_shape("Gather", in.shape(0), in.shape(1), axis)}};
}

std::optional<Shape> Gather::numbers(const Inference& in) const {
  const Shape *const data = in.numbers(0), *const indices = in.numbers(1);
  if (!data || !indices || !is_known(*indices) || in.rank(0) != 1 || in.rank(1) > 1) return {};
  Shape chosen;
  for (const std::int64_t index : known_dims(*indices))
    chosen.push_back((*data)[normalize_axis("Gather", index, data->size())]);
  return chosen;
}

Values Gather::gradient(Gradient& g) const {
  return {g.add(GatherGradient{axis, g.shape(g.input(0))}, {g.output_gradient(), g.input(1)}),
          absent};
}

TensorTypes GatherGradient::infer(const Inference& in) const {
  const Shape expected = gathered_shape("GatherGradient", shape, in.shape(1), axis);
  require(in.shape(0) == expected, "GatherGradient: dy must be of shape ", expected, ", got ",
          in.type(0));
  return {{in.dtype(0), shape}};
}

Values GatherGradient::gradient(Gradient& g) const {
  return {g.add(Gather{axis}, {g.output_gradient(), g.input(1)}), absent};
}

std::span<const Kernel> Gather::kernels() { return gather_kernels(); }
std::span<const Kernel> GatherGradient::kernels() { return gather_gradient_kernels(); }

}  // namespace narrowgauge

NG_OPS(gather, narrowgauge::Gather, narrowgauge::GatherGradient)
