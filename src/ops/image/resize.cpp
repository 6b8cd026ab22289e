// SPDX-License-Identifier: Apache-2.0
#include "ops/image/resize.h"

#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/image/resize_axis.h"
#include "ops/math/matmul.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// An empty tensor stands for an input that is not given.
const Tensor* unless_empty(const Tensor* tensor) {
  return tensor && tensor->size() > 0 ? tensor : nullptr;
}

const Tensor* constant_input(const Inference& in, int input, std::string_view port) {
  if (!in.has(input) || in.shape(input) == Shape{0}) return nullptr;
  return unless_empty(&in.known(input, port));
}

const Tensor* constant_input(Rewriting& r, int input) {
  return r.has_input(input) ? unless_empty(r.graph().constant_value(r.input(input))) : nullptr;
}

// The product of `weights` [out, in] with x along an axis.
Value multiply_axis(Rewriting& r, Value x, const Tensor& weights, std::size_t axis) {
  Shape shape = r.shape(x);
  const auto along = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Dim outer = element_count(Shape(shape.begin(), along));
  const Dim inner = element_count(Shape(along + 1, shape.end()));
  const Value matrix = r.constant(weights.cast(r.type(x).dtype));
  const Value planes = r.add(ReshapeTo{Shape{outer, *along, inner}}, {x});
  const Value y = r.add(MatMul{}, {matrix, planes});
  *along = weights.dims()[0];
  return r.add(ReshapeTo{shape}, {y});
}

}  // namespace

TensorTypes Resize::infer(const Inference& in) const {
  const ResizeInputs inputs{constant_input(in, 1, "roi"), constant_input(in, 2, "scales"),
                            constant_input(in, 3, "sizes")};
  TensorType y = in.type(0);
  for (const ResizeAxis& axis : resized_axes(*this, y.shape, inputs)) y.shape[axis.axis] = axis.out;
  return {y};
}

Values Resize::decompose(Rewriting& r) const {
  const Value x = r.input(0);
  const DType dtype = r.type(x).dtype;
  const auto changed = resized_axes(
      *this, r.shape(x), {constant_input(r, 1), constant_input(r, 2), constant_input(r, 3)});
  Value y = x;
  if (mode != "nearest" && !changed.empty()) y = in_dtype(r, x, statistics_dtype(dtype));
  for (const ResizeAxis& axis : changed)
    y = mode == "nearest" ? r.add(Gather{static_cast<std::int64_t>(axis.axis)},
                                  {y, r.constant(list_of(nearest_elements(*this, axis)))})
                          : multiply_axis(r, y, resize_weights(*this, axis), axis.axis);
  for (const ResizeAxis& axis : changed) {
    const auto mask = inside_mask(*this, axis);
    if (!mask) continue;
    Dims column(r.shape(y).size() - axis.axis, 1);
    column[0] = axis.out;
    y = where(Expression{r, r.constant(mask->reshaped(column))}, Expression{r, y},
              extrapolation_value);
  }
  return {in_dtype(r, y, dtype)};
}

std::span<const Kernel> Resize::kernels() { return composite_kernels(); }

std::vector<Sample<Resize>> Resize::samples() {
  const auto scales = [](const std::vector<float>& values) {
    return sample(Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values));
  };
  const auto sizes = [](const Dims& values) { return sample(list_of(values)); };
  const auto roi = [](const std::vector<double>& values) {
    return sample(Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values));
  };
  const SampleInput none = no_sample();
  std::vector<Sample<Resize>> all{
      {{}, {sample("f32[2,3,4,5]"), none, scales({1, 1, 2, 0.6F})}},
      {{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "floor"},
       {sample("i64[2,5]", -9, 9), none, none, sizes({2, 8})}},
      {{.axes = {-1, 2}, .mode = "linear"}, {sample("f32[2,3,4,5]"), none, none, sizes({3, 7})}},
      {{.antialias = 1, .mode = "linear"}, {sample("f32[3,8]"), none, scales({1, 0.4F})}},
      {{.coordinate_transformation_mode = "align_corners", .mode = "cubic"},
       {sample("f32[2,1,4,4]"), none, scales({1, 1, 1.7F, 2})}},
      {{.antialias = 1,
        .coordinate_transformation_mode = "half_pixel_symmetric",
        .cubic_coeff_a = -0.5,
        .exclude_outside = 1,
        .mode = "cubic"},
       {sample("f32[7,6]"), none, scales({0.6F, 1.4F})}},
      {{.axes = {1, 2}, .keep_aspect_ratio_policy = "not_larger", .mode = "linear"},
       {sample("f32[2,4,6]"), none, none, sizes({7, 8})}},
      {{.coordinate_transformation_mode = "tf_crop_and_resize",
        .extrapolation_value = 3,
        .mode = "linear"},
       {sample("f32[2,5,4]"), roi({0, 0.2, -0.3, 1, 0.8, 1.2}), none, sizes({2, 3, 5})}},
      {{.coordinate_transformation_mode = "pytorch_half_pixel", .nearest_mode = "ceil"},
       {sample("f32[3,4]"), none, none, sizes({1, 9})}},
  };
  const SampleInput image = sample("f32[2,4,5]"), part = roi({0, 0.1, 0.2, 1, 0.9, 0.7});
  for (const char* const mode : {"nearest", "linear", "cubic"})
    for (const char* const coordinates :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_crop_and_resize"})
      all.push_back({{.coordinate_transformation_mode = coordinates, .mode = mode},
                     {image, part, none, sizes({2, 7, 3})}});
  for (const char* const nearest : {"round_prefer_ceil", "floor", "ceil"})
    all.push_back({{.nearest_mode = nearest}, {image, none, none, sizes({2, 7, 3})}});
  return all;
}

}  // namespace narrowgauge

NG_OPS(resize, narrowgauge::Resize)
