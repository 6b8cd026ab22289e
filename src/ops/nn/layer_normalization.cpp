// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/layer_normalization.h"

#include "narrowgauge/graph.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/normalized_rows.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void require_shape(const Inference& in, int input, const Shape& expected) {
  require(in.shape(input) == expected, in.op_name(), ": expected input ", input, " of shape ",
          expected, " for x ", in.shape(0), ", got ", in.type(input));
}

}  // namespace

TensorTypes LayerNormalization::infer(const Inference& in) const {
  const NormalizedShapes shapes("LayerNormalization", in.shape(0), axis);
  require_shape(in, 1, shapes.normalized);
  if (in.has(2)) require_shape(in, 2, shapes.normalized);
  require(epsilon > 0, "LayerNormalization: epsilon must be positive, got ", epsilon);
  require(stash_type == 1, "LayerNormalization: stash_type must be 1 (f32), got ", stash_type);
  const TensorType statistics{statistics_dtype(in.dtype(0)), shapes.statistics};
  return {in.type(0), statistics, statistics};
}

TensorTypes LayerNormalizationGradient::infer(const Inference& in) const {
  const NormalizedShapes shapes("LayerNormalizationGradient", in.shape(0), axis);
  require_shape(in, 1, in.shape(0));
  require_shape(in, 2, shapes.normalized);
  require_shape(in, 3, shapes.statistics);
  require_shape(in, 4, shapes.statistics);
  return {in.type(0), in.type(2), in.type(2)};
}

Values LayerNormalization::decompose(Rewriting& r) const {
  const NormalizedRows rows(r, r.input(0), axis);
  const Expression x = rows.wide(r.input(0));
  const Expression mean = rows.mean(x);
  const Expression centred = x - mean;
  const Expression inverse_std = 1 / sqrt(rows.mean(centred * centred) + epsilon);
  Expression y = centred * inverse_std * rows.wide(r.input(1));
  if (r.has_input(2)) y = y + rows.wide(r.input(2));
  return {rows.cast(y, r.type(r.input(0)).dtype), mean, inverse_std};
}

Values LayerNormalizationGradient::decompose(Rewriting& r) const {
  const NormalizedRows rows(r, r.input(1), axis);
  const Expression dy = rows.wide(r.input(0)), x = rows.wide(r.input(1));
  const Expression inverse_std = rows.wide(r.input(4));
  const Expression normal = (x - rows.wide(r.input(3))) * inverse_std;
  const Expression scaled = dy * rows.wide(r.input(2));
  const Expression dx =
      inverse_std * (scaled - rows.mean(scaled) - normal * rows.mean(scaled * normal));
  const DType vectors = r.type(r.input(2)).dtype;
  return {rows.cast(dx, r.type(r.input(0)).dtype),
          rows.cast(rows.sum_of_rows(dy * normal), vectors),
          rows.cast(rows.sum_of_rows(dy), vectors)};
}

namespace {

// The gradient that reaches x through the statistics: d mean / dx = 1 / count, d inverse_std / dx =
// -inverse_std^3 (x - mean) / count.
Value through_layer_statistics(Gradient& g, std::int64_t axis) {
  const NormalizedRows rows(g, g.input(0), axis);
  const Expression centred = rows.wide(g.input(0)) - Expression{g, g.output(1)};
  const Expression inverse_std{g, g.output(2)};
  Expression sum = centred * 0.0;
  if (g.has_output_gradient(1)) sum = sum + Expression{g, g.output_gradient(1)};
  if (g.has_output_gradient(2))
    sum = sum -
          centred * (Expression{g, g.output_gradient(2)} * inverse_std * inverse_std * inverse_std);
  return rows.cast(rows.over_count(sum), g.type(g.input(0)).dtype);
}

}  // namespace

Values LayerNormalization::gradient(Gradient& g) const {
  Values gradients(3);
  if (g.has_output_gradient(0)) {
    const Value first =
        g.add(LayerNormalizationGradient{axis},
              {g.output_gradient(0), g.input(0), g.input(1), g.output(1), g.output(2)});
    gradients = {first, {first.node, 1}, {first.node, 2}};
  }
  const bool statistics = g.has_output_gradient(1) || g.has_output_gradient(2);
  if (!statistics || !g.wants(0)) return gradients;
  const Value more = through_layer_statistics(g, axis);
  gradients[0] = gradients[0].is_absent() ? more : g.add(Add{}, {gradients[0], more});
  return gradients;
}

}  // namespace narrowgauge

NG_OPS(layer_normalization, narrowgauge::LayerNormalization,
       narrowgauge::LayerNormalizationGradient)
