// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/compress.h"

#include <cstdint>
#include <iterator>

#include "base/enumerate.h"
#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/indexing.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Row-major indices of what is not zero.
Dims places_of(const Tensor& tensor) {
  Dims places;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.at(i) != 0) places.push_back(i);
  return places;
}

}  // namespace

TensorTypes NonZero::infer(const Inference& in) const {
  return {{DType::i64, {in.rank(0), std::ssize(places_of(in.known(0, "x")))}}};
}

Values NonZero::decompose(Rewriting& r) const {
  const Tensor& x = *r.graph().constant_value(r.input(0));
  const Dims places = places_of(x);
  Tensor indices(DType::i64, {std::ssize(x.dims()), std::ssize(places)});
  for (const auto& [column, place] : enumerate(places)) {
    const Dims position = position_of(place, x.dims());
    for (const auto& [axis, index] : enumerate(position))
      indices.set(axis * std::ssize(places) + column, static_cast<double>(index));
  }
  return {r.constant(indices)};
}

TensorTypes Compress::infer(const Inference& in) const {
  const Tensor& condition = in.known(1, "condition");
  require(condition.dims().size() == 1, "Compress: expected condition as a list, got ",
          condition.type());
  Shape shape = in.shape(0);
  if (axis == flattened) shape = {element_count(shape)};
  const std::size_t along = axis == flattened ? 0 : normalize_axis("Compress", axis, shape.size());
  Dim& size = shape[along];
  require(!size.is_known() || condition.size() <= size.value(), "Compress: condition ",
          condition.type(), " is longer than the ", size, " places of ", in.type(0));
  size = std::ssize(places_of(condition));
  return {{in.dtype(0), shape}};
}

Values Compress::decompose(Rewriting& r) const {
  const Dims places = places_of(*r.graph().constant_value(r.input(1)));
  Value x = r.input(0);
  if (axis == flattened) x = r.add(ReshapeTo{{element_count(r.shape(x))}}, {x});
  return {r.add(Gather{axis == flattened ? 0 : axis}, {x, r.constant(list_of(places))})};
}

std::span<const Kernel> NonZero::kernels() { return composite_kernels(); }
std::span<const Kernel> Compress::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(compress, narrowgauge::NonZero, narrowgauge::Compress)
NG_NO_GRADIENT(compress, "choice of indices", narrowgauge::NonZero)
