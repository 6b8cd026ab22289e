// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/generate.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"
#include "tensor/values.h"

namespace narrowgauge {

namespace {

std::int64_t range_length(WideInteger start, WideInteger limit, WideInteger delta) {
  const bool up = delta > 0;
  if (up ? start >= limit : start <= limit) return 0;
  const WideInteger way = up ? limit - start : start - limit;
  const WideInteger length = (way - 1) / (up ? delta : -delta) + 1;
  require(length <= Tensor::most_elements, "Range: ", static_cast<std::uint64_t>(length),
          " elements are more than a tensor can have");
  return static_cast<std::int64_t>(length);
}

std::int64_t range_length(double start, double limit, double delta) {
  const double length = std::ceil((limit - start) / delta);
  require(length <= static_cast<double>(Tensor::most_elements),
          "Range: expected finite numbers and fewer elements, got start ", start, ", limit ", limit,
          " and delta ", delta);
  return static_cast<std::int64_t>(std::max(length, 0.0));
}

// Calls use(start, limit, delta) with numbers of the kind that is exact for the dtype.
template <class Use>
auto with_numbers(const Tensor& start, const Tensor& limit, const Tensor& delta, const Use& use) {
  for (const Tensor* number : {&start, &limit, &delta})
    require(number->size() == 1, "Range: expected single numbers, got ", number->type());
  require(delta.at(0) != 0, "Range: delta must not be 0");
  if (is_floating(start.dtype())) return use(start.at(0), limit.at(0), delta.at(0));
  const auto whole = [](const Tensor& of) { return load_whole(of.dtype(), of.data(), 0); };
  return use(whole(start), whole(limit), whole(delta));
}

// The length, where symbols stand for whole numbers; it counts as at least 0.
std::optional<Dim> symbolic_length(const Inference& in) {
  const Shape *const start = in.numbers(0), *const limit = in.numbers(1), *delta = in.numbers(2);
  if (!start || !limit || !delta || *delta != Shape{1}) return {};
  return limit->at(0) - start->at(0);
}

}  // namespace

TensorTypes ConstantOfShape::infer(const Inference& in) const {
  require(value.size() == 1, "ConstantOfShape: expected one value, got ", value.type());
  return {{value.dtype(), known_sizes(in, 0, "shape")}};
}

Values ConstantOfShape::decompose(Rewriting& r) const {
  const Dims sizes = integers_of(*r.graph().constant_value(r.input(0)));
  return {r.add(ExpandTo{Shape(sizes.begin(), sizes.end())}, {r.constant(value.reshaped({}))})};
}

TensorTypes Range::infer(const Inference& in) const {
  const std::optional<Dim> symbolic = symbolic_length(in);
  if (symbolic && !symbolic->is_known()) return {{in.dtype(0), {*symbolic}}};
  const std::int64_t length = with_numbers(
      in.known(0, "start"), in.known(1, "limit"), in.known(2, "delta"),
      [](auto start, auto limit, auto delta) { return range_length(start, limit, delta); });
  return {{in.dtype(0), {length}}};
}

Values Range::decompose(Rewriting& r) const {
  const auto number = [&](int i) { return *r.graph().constant_value(r.input(i)); };
  const DType dtype = r.type(r.input(0)).dtype;
  return {r.constant(
      with_numbers(number(0), number(1), number(2), [&](auto start, auto limit, auto delta) {
        using Number = decltype(start);
        Tensor values(dtype, {range_length(start, limit, delta)});
        for (std::int64_t i = 0; i < values.size(); ++i) {
          const Number value = start + static_cast<Number>(i) * delta;
          if constexpr (std::is_same_v<Number, WideInteger>)
            store_whole(dtype, values.data(), i, value);
          else
            values.set(i, value);
        }
        return values;
      }))};
}

TensorTypes EyeLike::infer(const Inference& in) const {
  require(in.rank(0) == 2, "EyeLike: expected a matrix, got ", in.type(0));
  return {{dtype == dtype_of_x ? in.dtype(0) : dtype, in.shape(0)}};
}

Values EyeLike::decompose(Rewriting& r) const {
  const TensorType& x = r.type(r.input(0));
  const Dims dims = known_dims(x.shape);
  Tensor eye = Tensor::full(dtype == dtype_of_x ? x.dtype : dtype, dims, 0);
  for (std::int64_t row = 0; row < dims[0]; ++row)
    for (std::int64_t column = 0; column < dims[1]; ++column)
      if (column - row == k) eye.set(row * dims[1] + column, 1);
  return {r.constant(eye)};
}

std::span<const Kernel> ConstantOfShape::kernels() { return composite_kernels(); }
std::span<const Kernel> Range::kernels() { return composite_kernels(); }
std::span<const Kernel> EyeLike::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(generate, narrowgauge::ConstantOfShape, narrowgauge::Range, narrowgauge::EyeLike)
NG_NO_GRADIENT(generate, "made of known numbers", narrowgauge::ConstantOfShape, narrowgauge::Range,
               narrowgauge::EyeLike)
