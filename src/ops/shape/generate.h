// SPDX-License-Identifier: Apache-2.0
// Tensors made from numbers and shapes that are known when the graph is built.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// A tensor of the constant `shape` filled with `value`, an array of one element, whose dtype it
// has.
struct ConstantOfShape {
  static constexpr OpInfo info{
      .name = "ConstantOfShape", .inputs = "shape:i64!", .outputs = "y:any", .precision = clear};
  Tensor value{DType::f32, {1}};
  static void attributes(auto& self, auto&& visit) { visit("value", self.value); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// start, start + delta, ... before `limit`, all constants without dimensions: a list of max(0,
// ceil((limit - start) / delta)) elements.
struct Range {
  static constexpr OpInfo info{.name = "Range",
                               .inputs = "start:T!, limit:T!, delta:T!",
                               .outputs = "y:T",
                               .types = "T:number"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// A matrix of the shape of x with ones on diagonal k, counted upwards from the main one, and zeros
// elsewhere, in `dtype`, else in the dtype of x.
struct EyeLike {
  static constexpr OpInfo info{
      .name = "EyeLike", .inputs = "x:any!", .outputs = "y:any", .precision = clear};
  static constexpr DType dtype_of_x = DType::b1;  // never that of y
  DType dtype = dtype_of_x;
  std::int64_t k = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("k", self.k);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
