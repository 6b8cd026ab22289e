// SPDX-License-Identifier: Apache-2.0
#include "ops/math/reduce.h"

#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/math/reduce_axes.h"
#include "ops/math/reduce_gradient.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

ReducedShapes reduced_shapes(const Shape& shape, const Dims& axes) {
  const std::vector<bool> reduced = axis_mask(axes, shape.size());
  ReducedShapes result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    result.kept.push_back(reduced[i] ? Dim(1) : shape[i]);
    if (!reduced[i]) result.dropped.push_back(shape[i]);
  }
  return result;
}

Dims reduced_axes(std::string_view op, const Tensor* given, std::size_t rank, bool noop_if_empty) {
  if (given && given->size() > 0) {
    const std::vector<std::size_t> axes = normalize_axes(op, integers_of(*given), rank);
    return {axes.begin(), axes.end()};
  }
  if (noop_if_empty) return {};
  Dims all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <Reduction kind>
TensorTypes ReduceOp<kind>::infer(const Inference& in) const {
  constant_integers(in, 1, "axes");
  const Dims axes =
      reduced_axes(in.op_name(), in.constant(1), in.shape(0).size(), noop_with_empty_axes != 0);
  ReducedShapes shapes = reduced_shapes(in.shape(0), axes);
  return {{in.dtype(0), keepdims != 0 ? std::move(shapes.kept) : std::move(shapes.dropped)}};
}

template <Reduction kind>
std::optional<Shape> ReduceOp<kind>::numbers(const Inference& in) const {
  const bool all = in.rank(0) == 1 && (in.has(1) || noop_with_empty_axes == 0);
  if (kind != Reduction::product || !all || !in.numbers(0)) return {};
  return Shape{element_count(*in.numbers(0))};
}

template <Reduction kind>
Values ReduceOp<kind>::gradient(Gradient& g) const {
  const Tensor* given = g.has_input(1) ? g.graph().constant_value(g.input(1)) : nullptr;
  const Dims axes =
      reduced_axes(info.name, given, g.shape(g.input(0)).size(), noop_with_empty_axes != 0);
  return {reduction_gradient(kind, g, axes), absent};
}

namespace {

TensorTypes spread_types(const Inference& in, const Shape& shape, const Dims& axes) {
  normalize_axes(in.op_name(), axes, shape.size());
  for (const std::int64_t axis : axes)
    require(axis >= 0, in.op_name(), ": axes must not be negative, got ", axes);
  const ReducedShapes shapes = reduced_shapes(shape, axes);
  require(in.shape(0) == shapes.kept || in.shape(0) == shapes.dropped, in.op_name(), ": ",
          in.type(0), " is not what a reduction of ", shape, " over ", axes, " gives");
  return {{in.dtype(0), shape}};
}

template <class Reducing>
Values reduce_again(Gradient& g, const Dims& axes) {
  const Value dy = g.output_gradient();
  if (axes.empty()) return {dy};
  const bool keeps = g.shape(g.input(0)).size() == g.shape(dy).size();
  return {g.add(Reducing{.keepdims = keeps}, {dy, g.constant(list_of(axes))})};
}

}  // namespace

TensorTypes ReduceSumGradient::infer(const Inference& in) const {
  return spread_types(in, shape, axes);
}
TensorTypes ReduceMeanGradient::infer(const Inference& in) const {
  return spread_types(in, shape, axes);
}
Values ReduceSumGradient::gradient(Gradient& g) const { return reduce_again<ReduceSum>(g, axes); }
Values ReduceMeanGradient::gradient(Gradient& g) const { return reduce_again<ReduceMean>(g, axes); }

template struct ReduceOp<Reduction::sum>;
template struct ReduceOp<Reduction::mean>;
template struct ReduceOp<Reduction::maximum>;
template struct ReduceOp<Reduction::minimum>;
template struct ReduceOp<Reduction::product>;
template struct ReduceOp<Reduction::l1>;
template struct ReduceOp<Reduction::l2>;
template struct ReduceOp<Reduction::sum_square>;
template struct ReduceOp<Reduction::log_sum>;
template struct ReduceOp<Reduction::log_sum_exp>;

}  // namespace narrowgauge

NG_OPS(reduce, narrowgauge::ReduceSum, narrowgauge::ReduceMean, narrowgauge::ReduceMax,
       narrowgauge::ReduceMin, narrowgauge::ReduceProd, narrowgauge::ReduceL1,
       narrowgauge::ReduceL2, narrowgauge::ReduceSumSquare, narrowgauge::ReduceLogSum,
       narrowgauge::ReduceLogSumExp, narrowgauge::ReduceSumGradient,
       narrowgauge::ReduceMeanGradient)
