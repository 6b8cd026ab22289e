// SPDX-License-Identifier: Apache-2.0
// What a tensor's shape is, as values.
#pragma once

#include <limits>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The dimensions of x from `start` to before `end`, which may count from the end and are clamped.
// ONNX's Shape.
struct ShapeOf {
  static constexpr OpInfo info{
      .name = "Shape", .inputs = "x:any!", .outputs = "shape:i64", .precision = clear};
  std::int64_t start = 0, end = std::numeric_limits<std::int64_t>::max();
  static void attributes(auto& self, auto&& visit) {
    visit("start", self.start);
    visit("end", self.end);
  }
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// The number of elements of x. ONNX's Size.
struct SizeOf {
  static constexpr OpInfo info{
      .name = "Size", .inputs = "x:any!", .outputs = "size:i64", .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
