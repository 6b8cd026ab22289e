// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/tile.h"

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/shape/axes.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes Tile::infer(const Inference& in) const {
  const Shape repeats = known_sizes(in, 1, "repeats");
  Shape shape = in.shape(0);
  require(repeats.size() == shape.size(), "Tile: expected ", shape.size(), " repeats for ",
          in.type(0), ", got ", repeats);
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = shape[i] * repeats[i];
  return {{in.dtype(0), shape}};
}

// Each axis [d] as [1, d], expanded to [repeats, d].
Values Tile::decompose(Rewriting& r) const {
  const Dims repeats = integers_of(*r.graph().constant_value(r.input(1)));
  Shape apart, repeated, joined;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const Dim& dim = r.shape(r.input(0))[i];
    apart.insert(apart.end(), {1, dim});
    repeated.insert(repeated.end(), {repeats[i], dim});
    joined.push_back(dim * repeats[i]);
  }
  const Value expanded = r.add(ExpandTo{repeated}, {r.add(ReshapeTo{apart}, {r.input(0)})});
  return {r.add(ReshapeTo{joined}, {expanded})};
}

std::span<const Kernel> Tile::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(tile, narrowgauge::Tile)
