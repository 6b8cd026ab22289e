// SPDX-License-Identifier: Apache-2.0
// Puts the same elements in another shape, without moving them if the operand is plain.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

constexpr OpInfo view_info(std::string_view name, std::string_view inputs) {
  return {.name = name,
          .inputs = inputs,
          .outputs = "y:T~",
          .precision = clear,
          .fusion = Fusion::view};
}

// The constant `shape` may hold one -1 (what is left) and zeros (the dimension of x; with allowzero
// just 0).
struct Reshape {
  static constexpr OpInfo info = view_info("Reshape", "x:T~, shape:i64!");
  std::int64_t allowzero = 0;
  static void attributes(auto& self, auto&& visit) { visit("allowzero", self.allowzero); }
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Makes a matrix: axes before `axis` are its rows, the others its columns.
struct Flatten {
  static constexpr OpInfo info = view_info("Flatten", "x:T~");
  std::int64_t axis = 1;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Removes the axes of size 1 that the constant `axes` names; without axes all of size 1.
struct Squeeze {
  static constexpr OpInfo info = view_info("Squeeze", "x:T~, axes?:i64!");
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Inserts axes of size 1 at the places that the constant `axes` names in the result.
struct Unsqueeze {
  static constexpr OpInfo info = view_info("Unsqueeze", "x:T~, axes:i64!");
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
