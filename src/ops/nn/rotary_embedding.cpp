// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/rotary_embedding.h"

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/shape/concat.h"
#include "ops/shape/gather.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The sizes of one call.
struct Heads {
  Dim batch, steps;
  std::int64_t width, rotated;
};

Heads heads_of(const RotaryEmbedding& op, const Shape& x) {
  require(x.size() == 3 || x.size() == 4,
          "RotaryEmbedding: expected x [N,T,num_heads*width] or [N,heads,T,width], got ", x);
  require(x.back().is_known(), "RotaryEmbedding: the width of x ", x, " must be known");
  std::int64_t width = x.back().value();
  if (x.size() == 3) {
    require(op.num_heads >= 1 && width % op.num_heads == 0, "RotaryEmbedding: num_heads ",
            op.num_heads, " does not divide the width of x ", x);
    width /= op.num_heads;
  }
  const std::int64_t rotated = op.rotary_embedding_dim == 0 ? width : op.rotary_embedding_dim;
  require(rotated > 0 && rotated <= width && rotated % 2 == 0,
          "RotaryEmbedding: expected an even rotary_embedding_dim up to ", width, ", got ",
          rotated);
  return {x[0], x[x.size() == 3 ? 1 : 2], width, rotated};
}

std::vector<Expression> halves(Rewriting& r, Value x, const Dim& half) {
  const Value first = r.add(ConcatGradient{-1, {half, half}}, {x});
  return {{r, first}, {r, Value{first.node, 1}}};
}

}  // namespace

TensorTypes RotaryEmbedding::infer(const Inference& in) const {
  const Heads heads = heads_of(*this, in.shape(0));
  const Dim pairs = heads.rotated / 2;
  require(interleaved == 0 || interleaved == 1, "RotaryEmbedding: interleaved must be 0 or 1, got ",
          interleaved);
  const Shape positions{heads.batch, heads.steps};
  require(!in.has(3) || in.shape(3) == positions, "RotaryEmbedding: expected position_ids ",
          positions, ", got ", in.has(3) ? in.type(3) : TensorType{});
  for (const int cache : {1, 2}) {
    const Shape expected = in.has(3) ? Shape{in.shape(1).empty() ? Dim(0) : in.shape(1)[0], pairs}
                                     : Shape{heads.batch, heads.steps, pairs};
    require(in.shape(cache) == expected, "RotaryEmbedding: expected input ", cache, " of shape ",
            expected, ", got ", in.type(cache));
  }
  return {in.type(0)};
}

Values RotaryEmbedding::decompose(Rewriting& r) const {
  const Shape shape = r.shape(r.input(0));
  const Heads heads = heads_of(*this, shape);
  const std::int64_t pairs = heads.rotated / 2;
  const bool packed = shape.size() == 3;
  Shape apart = shape;
  if (packed) apart = {heads.batch, heads.steps, num_heads, heads.width};
  const Value x = r.add(ReshapeTo{apart}, {r.input(0)});
  const Shape angles = packed ? Shape{heads.batch, heads.steps, 1, pairs}
                              : Shape{heads.batch, 1, heads.steps, pairs};
  const auto taken = [&](int input) {
    const Value cache =
        r.has_input(3) ? r.add(Gather{0}, {r.input(input), r.input(3)}) : r.input(input);
    return Expression{r, r.add(ReshapeTo{angles}, {cache})};
  };
  const Expression cos = taken(1), sin = taken(2);
  const Value parts = r.add(ConcatGradient{-1, {heads.rotated, heads.width - heads.rotated}}, {x});
  Shape of_pairs = apart, single = apart;
  of_pairs.back() = single.back() = pairs;
  of_pairs.push_back(2);
  single.push_back(1);
  const bool neighbours = interleaved != 0;
  const auto both =
      neighbours ? halves(r, r.add(ReshapeTo{of_pairs}, {parts}), 1) : halves(r, parts, pairs);
  // Neighbours are columns of their own while they are apart.
  const auto in_place = [&](Expression value, const Shape& place) {
    return neighbours ? Expression{r, r.add(ReshapeTo{place}, {value})} : value;
  };
  Shape half = apart;
  half.back() = pairs;
  const Expression a = in_place(both[0], half), b = in_place(both[1], half);
  const Expression real = in_place(cos * a - sin * b, single);
  const Expression imaginary = in_place(sin * a + cos * b, single);
  Value rotated = r.add(Concat{-1}, {real, imaginary});
  half.back() = heads.rotated;
  if (neighbours) rotated = r.add(ReshapeTo{half}, {rotated});
  return {r.add(ReshapeTo{shape}, {r.add(Concat{-1}, {rotated, Value{parts.node, 1}})})};
}

std::span<const Kernel> RotaryEmbedding::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(rotary_embedding, narrowgauge::RotaryEmbedding)
