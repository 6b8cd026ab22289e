// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/max_pool.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

SampleInput taps(DType dtype, Dims dims, std::int64_t window) {
  Tensor tensor(dtype, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>(i * 7 % window));
  return sample(std::move(tensor));
}

// Distinct values far apart, so that a small change does not change which one is the largest.
SampleInput distinct(std::string_view type) {
  const Dims dims = known_dims(TensorType::parse(type).shape);
  Tensor tensor(DType::f32, dims);
  const std::int64_t size = tensor.size();
  for (std::int64_t i = 0; i < size; ++i) tensor.set(i, static_cast<double>(i * 89 % 997) / 64 - 7);
  return sample(std::move(tensor));
}

std::vector<Sample<MaxPool>> max_pool_samples() {
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, {distinct("f32[2,3,4,6]")}},
      {{.kernel_shape = {3, 2}, .pads = {1, 0, 1, 1}, .strides = {2, 1}},
       {distinct("f32[2,17,5,4]")}},
      {{.ceil_mode = 1, .kernel_shape = {3, 3}, .strides = {2, 2}}, {distinct("f32[1,2,6,4]")}},
      {{.auto_pad = "SAME_UPPER", .kernel_shape = {3}, .strides = {2}}, {distinct("f32[2,3,8]")}},
      {{.dilations = {2, 1, 1}, .kernel_shape = {2, 2, 1}}, {distinct("f32[1,2,4,3,2]")}},
      {{.kernel_shape = {2, 2}, .storage_order = 1}, {distinct("f32[1,2,3,4]")}},
      {{.kernel_shape = {17, 16}}, {distinct("f32[1,1,18,16]")}},
  };
}

std::vector<Sample<MaxPoolGradient>> max_pool_gradient_samples() {
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}, .shape = {2, 3, 4, 6}},
       {sample("f32[2,3,2,3]"), taps(DType::u8, {2, 3, 2, 3}, 4)}},
      {{.kernel_shape = {3, 2}, .shape = {2, 17, 5, 4}},
       {sample("f32[2,17,3,3]"), taps(DType::u8, {2, 17, 3, 3}, 6)}},
      {{.kernel_shape = {17, 16}, .shape = {1, 1, 18, 16}},
       {sample("f32[1,1,2,1]"), taps(DType::i32, {1, 1, 2, 1}, 272)}},
  };
}

std::vector<Sample<MaxPoolTaken>> max_pool_taken_samples() {
  return {
      {{.kernel_shape = {2, 2}, .strides = {2, 2}},
       {sample("f32[2,3,4,6]"), taps(DType::u8, {2, 3, 2, 3}, 4)}},
      {{.ceil_mode = 1, .dilations = {2, 1}, .kernel_shape = {2, 2}, .pads = {1, 0, 1, 1}},
       {sample("f32[2,3,5,4]"), taps(DType::u8, {2, 3, 5, 4}, 4)}},
      {{.kernel_shape = {17, 16}}, {sample("f32[1,1,18,16]"), taps(DType::i32, {1, 1, 2, 1}, 272)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(max_pool, max_pool_samples(), max_pool_gradient_samples(), max_pool_taken_samples())
