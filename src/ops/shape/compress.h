// SPDX-License-Identifier: Apache-2.0
// Places that are not zero, and the elements at such places. How many there are is part of a shape,
// so that what decides must be constant.
#pragma once

#include <limits>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The indices i64[rank, count] of the elements of the constant x that are not zero, in row-major
// order, one column for each. NaN is not zero. ONNX's NonZero.
struct NonZero {
  static constexpr OpInfo info{
      .name = "NonZero", .inputs = "x:any!", .outputs = "y:i64!", .precision = clear};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// The slices of x along `axis`, else the elements of x in row-major order, at whose places the
// constant `condition`, a list, is true; it may be shorter than they are many. ONNX's Compress.
struct Compress {
  static constexpr OpInfo info{
      .name = "Compress", .inputs = "x:T, condition:bool!", .outputs = "y:T", .precision = clear};
  static constexpr std::int64_t flattened = std::numeric_limits<std::int64_t>::min();
  std::int64_t axis = flattened;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
