// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/batch_normalization.h"

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/elementwise/expression.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/arithmetic.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/cast.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

void require_vectors(const Inference& in, int first, int last) {
  const Shape expected{in.shape(0)[1]};
  for (int i = first; i <= last; ++i)
    require(in.shape(i) == expected, in.op_name(), ": expected one value for each of ", expected[0],
            " channels as input ", i, ", got ", in.type(i));
}

}  // namespace

TensorTypes BatchNormalization::infer(const Inference& in) const {
  require(in.rank(0) >= 2, "BatchNormalization: expected x [N, C, ...], got ", in.type(0));
  require_vectors(in, 1, 4);
  require(epsilon > 0, "BatchNormalization: epsilon must be positive, got ", epsilon);
  require(momentum >= 0 && momentum <= 1, "BatchNormalization: momentum must be in [0, 1], got ",
          momentum);
  if (!training_mode) return {in.type(0)};
  const Shape vector = in.shape(1);
  const TensorType running{in.dtype(3), vector}, batch{statistics_dtype(in.dtype(0)), vector};
  return {in.type(0), running, running, batch, batch, batch};
}

double BatchNormalization::variance_factor(std::int64_t elements) const {
  if (!unbiased) return 1;
  return static_cast<double>(elements) /
         static_cast<double>(std::max<std::int64_t>(1, elements - 1));
}

TensorTypes NormalizeAgain::infer(const Inference& in) const {
  require(in.rank(0) >= 2, "NormalizeAgain: expected x [N, C, ...], got ", in.type(0));
  require_vectors(in, 1, 4);
  return {in.type(0)};
}

TensorTypes BatchNormalizationGradient::infer(const Inference& in) const {
  require(in.rank(0) >= 2 && in.shape(0) == in.shape(1),
          "BatchNormalizationGradient: expected dy and x [N, C, ...] of one shape, got ",
          in.type(0), " and ", in.type(1));
  require_vectors(in, 2, 4);
  const TensorType vector = in.type(2);
  return {in.type(0), vector, vector};
}

namespace {

// Formulas over values [N, C, ...] and vectors [C] in the dtype of the statistics.
class Channels {
 public:
  Channels(Rewriting& r, Value like, DType statistics)
      : r_(r), dtype_(statistics), shape_(r.shape(like)), column_(shape_.size() - 1, 1) {
    column_[0] = shape_[1];
  }

  Expression wide(Value value) const { return cast(value, dtype_); }
  Expression cast(Value value, DType dtype) const {
    if (r_.type(value).dtype == dtype) return {r_, value};
    return {r_, r_.add(Cast{.to = dtype}, {value})};
  }
  // [C] as [C, 1, ...], which broadcasts.
  Expression column(Value vector) const { return reshaped(wide(vector), column_); }
  // Sums over all axes but the channels; gives a vector.
  Expression sum(Value value) const { return reshaped(column_sum(value), {column_[0]}); }
  Expression mean(Value value) const {
    return reshaped(over_count(column_sum(value)), {column_[0]});
  }
  // A column divided by the number of elements of a channel.
  Expression over_count(Expression column) const {
    if (const Dim count = elements(); count.is_known())
      return column / static_cast<double>(count.value());
    return column / counted();
  }
  // A vector or column of variances as it counts in the running variance.
  Expression for_running(Expression variance, const BatchNormalization& op) const {
    if (!op.unbiased) return variance;
    if (const Dim count = elements(); count.is_known())
      return variance * op.variance_factor(count.value());
    const Expression count{r_, r_.add(ReshapeTo{r_.shape(variance)}, {counted()})};
    return variance * (count / where(count > 1.0, count - 1.0, count));
  }

 private:
  Dim elements() const { return element_count(shape_) / element_count({shape_[1]}); }
  // Their number, where it is not known yet.
  Expression counted() const {
    return column_sum(r_.add(ExpandTo{shape_}, {r_.scalar(1, dtype_)}));
  }
  Expression column_sum(Value value) const {
    return {r_, r_.add(BroadcastGradient{column_}, {value})};
  }
  Expression reshaped(Value value, const Shape& shape) const {
    return {r_, r_.add(ReshapeTo{shape}, {value})};
  }
  Rewriting& r_;
  DType dtype_;
  Shape shape_, column_;
};

}  // namespace

Values BatchNormalization::decompose(Rewriting& r) const {
  const DType dtype = r.type(r.input(0)).dtype, running = r.type(r.input(3)).dtype;
  const Channels channels(r, r.input(0), statistics_dtype(dtype));
  const Expression x = channels.wide(r.input(0));
  const Expression given_mean = channels.wide(r.input(3)),
                   given_variance = channels.wide(r.input(4));
  const Expression mean = training_mode ? channels.mean(x) : given_mean;
  const Expression centred = x - channels.column(mean);
  const Expression variance = training_mode ? channels.mean(centred * centred) : given_variance;
  const Expression inverse_std = 1 / sqrt(variance + epsilon);
  const Expression y = centred * channels.column(inverse_std) * channels.column(r.input(1)) +
                       channels.column(r.input(2));
  if (!training_mode) return {channels.cast(y, dtype)};
  const auto advance = [&](Expression current, Expression batch) {
    return channels.cast(current * momentum + batch * (1 - momentum), running);
  };
  return {channels.cast(y, dtype),
          advance(given_mean, mean),
          advance(given_variance, channels.for_running(variance, *this)),
          mean,
          inverse_std,
          channels.wide(r.input(2))};
}

Values NormalizeAgain::decompose(Rewriting& r) const {
  const DType dtype = r.type(r.input(0)).dtype;
  const Channels channels(r, r.input(0), statistics_dtype(dtype));
  const auto column = [&](int input) { return channels.column(r.input(input)); };
  const Expression centred = channels.wide(r.input(0)) - column(3);
  return {channels.cast(centred * column(4) * column(1) + column(2), dtype)};
}

Values BatchNormalizationGradient::decompose(Rewriting& r) const {
  const DType dtype = r.type(r.input(0)).dtype, vectors = r.type(r.input(2)).dtype;
  const Channels channels(r, r.input(0), statistics_dtype(dtype));
  const Expression dy = channels.wide(r.input(0)), x = channels.wide(r.input(1));
  const Expression inverse_std = channels.column(r.input(4));
  const Expression normal = (x - channels.column(r.input(3))) * inverse_std;
  const Expression product = dy * normal;
  const Expression factor = channels.column(r.input(2)) * inverse_std;
  const Expression through = training ? dy - channels.column(channels.mean(dy)) -
                                            normal * channels.column(channels.mean(product))
                                      : dy;
  return {channels.cast(factor * through, dtype), channels.cast(channels.sum(product), vectors),
          channels.cast(channels.sum(dy), vectors)};
}

namespace {

// The gradient that reaches x from outputs that hold the batch's mean m or variance v: dm / dx = 1
// / count, dv / dx = 2 (x - m) / count, d inverse_std / dv = -inverse_std^3 / 2.
Value through_batch_statistics(Gradient& g, const BatchNormalization& op) {
  const Value x_value = g.input(0);
  const DType dtype = g.type(x_value).dtype;
  const Channels channels(g, x_value, statistics_dtype(dtype));
  const Expression x = channels.wide(x_value);
  const Expression centred = x - channels.column(g.output(3));
  const Expression inverse_std = channels.column(g.output(4));
  const auto gradient = [&](int output) -> std::optional<Expression> {
    if (!g.has_output_gradient(output)) return std::nullopt;
    return channels.column(g.output_gradient(output));
  };
  const double fresh = 1 - op.momentum;
  Expression sum = centred * 0.0;
  if (const auto d = gradient(1)) sum = sum + *d * fresh;
  if (const auto d = gradient(2)) sum = sum + centred * channels.for_running(*d, op) * (2 * fresh);
  if (const auto d = gradient(3)) sum = sum + *d;
  if (const auto d = gradient(4))
    sum = sum - centred * *d * (inverse_std * inverse_std * inverse_std);
  return channels.cast(channels.over_count(sum), dtype);
}

// The gradient for given statistics: one factor and one addend for each channel.
Values gradient_of_inference(Gradient& g, const BatchNormalization& op) {
  const DType dtype = statistics_dtype(g.type(g.input(0)).dtype);
  const Channels channels(g, g.input(0), dtype);
  const Expression inverse_std = 1 / sqrt(channels.wide(g.input(4)) + op.epsilon);
  const Value first =
      g.add(BatchNormalizationGradient{.training = false},
            {g.output_gradient(), g.input(0), g.input(1), channels.wide(g.input(3)), inverse_std});
  return {first, {first.node, 1}, {first.node, 2}, absent, absent};
}

}  // namespace

namespace {

Value cast_to(Gradient& g, Value value, DType dtype) {
  return g.type(value).dtype == dtype ? value : g.add(Cast{.to = dtype}, {value});
}

}  // namespace

Values BatchNormalization::gradient(Gradient& g) const {
  if (!training_mode) return gradient_of_inference(g, *this);
  Values gradients(5);
  if (g.has_output_gradient(0)) {
    const Value first = g.add(BatchNormalizationGradient{}, {g.output_gradient(0), g.input(0),
                                                             g.input(1), g.output(3), g.output(4)});
    gradients = {first, {first.node, 1}, {first.node, 2}, absent, absent};
  }
  if (g.has_output_gradient(5)) {
    const Value more = cast_to(g, g.output_gradient(5), g.type(g.input(2)).dtype);
    gradients[2] = gradients[2].is_absent() ? more : g.add(Add{}, {gradients[2], more});
  }
  bool statistics = false;
  for (int output = 1; output < 5; ++output)
    statistics = statistics || g.has_output_gradient(output);
  if (!statistics || !g.wants(0)) return gradients;
  const Value more = through_batch_statistics(g, *this);
  gradients[0] = gradients[0].is_absent() ? more : g.add(Add{}, {gradients[0], more});
  return gradients;
}

}  // namespace narrowgauge

NG_OPS(batch_normalization, narrowgauge::BatchNormalization, narrowgauge::NormalizeAgain,
       narrowgauge::BatchNormalizationGradient)
