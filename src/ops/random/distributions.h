// SPDX-License-Identifier: Apache-2.0
// Tensors of random numbers: functions of (seed, step, node name, element), as ops/nn/dropout.h.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The run's seed in place of one of the node's own.
inline constexpr double seed_of_run = -1;
// Stands for the dtype of the input, which is never b1.
inline constexpr DType dtype_of_input = DType::b1;

// Numbers from low to below high, all alike: low + (high - low) u, where u has 24 random bits. The
// sum is rounded to `dtype`, a floating one, and may so become high. `seed`, any number not
// negative, replaces the run's seed. ONNX's RandomUniform.
struct RandomUniform {
  static constexpr OpInfo info{
      .name = "RandomUniform", .inputs = "", .outputs = "y:any!", .random = true};
  DType dtype = DType::f32;
  double high = 1, low = 0, seed = seed_of_run;
  Shape shape;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("high", self.high);
    visit("low", self.low);
    visit("seed", self.seed);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// The same in the shape of x, and in its dtype unless `dtype` is given.
struct RandomUniformLike {
  static constexpr OpInfo info{
      .name = "RandomUniformLike", .inputs = "x:any!", .outputs = "y:any!", .random = true};
  DType dtype = dtype_of_input;
  double high = 1, low = 0, seed = seed_of_run;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("high", self.high);
    visit("low", self.low);
    visit("seed", self.seed);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// Normally distributed numbers of this mean and standard deviation `scale`; the rest as in
// RandomUniform. ONNX's RandomNormal.
struct RandomNormal {
  static constexpr OpInfo info{
      .name = "RandomNormal", .inputs = "", .outputs = "y:any!", .random = true};
  DType dtype = DType::f32;
  double mean = 0, scale = 1, seed = seed_of_run;
  Shape shape;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("mean", self.mean);
    visit("scale", self.scale);
    visit("seed", self.seed);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// The same in the shape of x, and in its dtype unless `dtype` is given.
struct RandomNormalLike {
  static constexpr OpInfo info{
      .name = "RandomNormalLike", .inputs = "x:any!", .outputs = "y:any!", .random = true};
  DType dtype = dtype_of_input;
  double mean = 0, scale = 1, seed = seed_of_run;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("mean", self.mean);
    visit("scale", self.scale);
    visit("seed", self.seed);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
