// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/features.h"

#include <cmath>
#include <string_view>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/comparison.h"
#include "ops/math/reduce.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// A list with one number for all features, or one for each.
void check_list(const Inference& in, std::string_view list, const Dims& dims) {
  require(in.rank(0) > 0, in.op_name(), ": expected features along an axis, got ", in.type(0));
  require(dims.size() == 1 && (dims[0] == 1 || in.shape(0).back() == Dim(dims[0])), in.op_name(),
          ": expected one number in ", list, ", or one for each feature of ", in.type(0), ", got ",
          dims);
}

// The numbers to put in, and the one that they replace, in the dtype of x.
Tensor imputed_values(const Imputer& op, DType dtype) {
  return (is_integer(dtype) ? list_of(op.imputed_value_int64s) : op.imputed_value_floats)
      .cast(dtype);
}
Tensor replaced_value(const Imputer& op, DType dtype) {
  if (is_integer(dtype)) return list_of(Dims{op.replaced_value_int64}).cast(dtype);
  return Tensor::full(dtype, {1}, op.replaced_value_float);
}

}  // namespace

TensorTypes Binarizer::infer(const Inference& in) const { return {in.type(0)}; }

Values Binarizer::decompose(Rewriting& r) const {
  const DType dtype = r.type(r.input(0)).dtype;
  return {in_dtype(r, in_dtype(r, r.input(0), DType::f64) > threshold, dtype)};
}

TensorTypes Scaler::infer(const Inference& in) const {
  if (offset.size() > 0) check_list(in, "offset", offset.dims());
  if (scale.size() > 0) check_list(in, "scale", scale.dims());
  return {{DType::f32, in.shape(0)}};
}

Values Scaler::decompose(Rewriting& r) const {
  const auto list = [&](const Tensor& numbers) {
    return Expression{r, r.constant(numbers.cast(DType::f32))};
  };
  Expression y = in_dtype(r, r.input(0), DType::f32);
  if (offset.size() > 0) y = y - list(offset);
  if (scale.size() > 0) y = y * list(scale);
  return {y};
}

TensorTypes Normalizer::infer(const Inference& in) const {
  require(norm == "MAX" || norm == "L1" || norm == "L2",
          "Normalizer: norm must be MAX, L1 or L2, got '", norm, "'");
  require(in.rank(0) > 0, "Normalizer: expected features along an axis, got ", in.type(0));
  return {{DType::f32, in.shape(0)}};
}

Values Normalizer::decompose(Rewriting& r) const {
  const Expression x = in_dtype(r, r.input(0), DType::f32);
  const Value last = r.constant(list_of(Dims{-1}));
  const Expression size = norm == "MAX"  ? x.apply(ReduceMax{}, last)
                          : norm == "L1" ? x.apply(ReduceL1{}, last)
                                         : x.apply(ReduceL2{}, last);
  return {x / where(size == 0, 1, size)};
}

TensorTypes Imputer::infer(const Inference& in) const {
  check_list(in, is_integer(in.dtype(0)) ? "imputed_value_int64s" : "imputed_value_floats",
             imputed_values(*this, in.dtype(0)).dims());
  return {in.type(0)};
}

Values Imputer::decompose(Rewriting& r) const {
  const Expression x{r, r.input(0)};
  const DType dtype = r.type(x).dtype;
  const bool missing = is_floating(dtype) && std::isnan(replaced_value_float);
  const Expression replaced =
      missing ? x.apply(IsNaN{}) : x.apply(Equal{}, r.constant(replaced_value(*this, dtype)));
  return {where(replaced, {r, r.constant(imputed_values(*this, dtype))}, x)};
}

TensorTypes ArrayFeatureExtractor::infer(const Inference& in) const {
  require(in.rank(0) > 0, "ArrayFeatureExtractor: expected features along an axis, got ",
          in.type(0));
  Shape shape = in.rank(0) > 1 ? in.shape(0) : Shape{1, 1};
  shape.back() = element_count(in.shape(1));
  return {{in.dtype(0), shape}};
}

Values ArrayFeatureExtractor::decompose(Rewriting& r) const {
  Value x = r.input(0);
  const Shape shape = r.shape(x);
  if (shape.size() == 1) x = r.add(ReshapeTo{{1, shape[0]}}, {x});
  const Dim count = element_count(r.shape(r.input(1)));
  return {r.add(Gather{-1}, {x, r.add(ReshapeTo{{count}}, {r.input(1)})})};
}

std::span<const Kernel> Binarizer::kernels() { return composite_kernels(); }
std::span<const Kernel> Scaler::kernels() { return composite_kernels(); }
std::span<const Kernel> Normalizer::kernels() { return composite_kernels(); }
std::span<const Kernel> Imputer::kernels() { return composite_kernels(); }
std::span<const Kernel> ArrayFeatureExtractor::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(features, narrowgauge::Binarizer, narrowgauge::Scaler, narrowgauge::Normalizer,
       narrowgauge::Imputer, narrowgauge::ArrayFeatureExtractor)
NG_NO_GRADIENT(features, "constant almost everywhere", narrowgauge::Binarizer)
