// SPDX-License-Identifier: Apache-2.0
// What occurs in a tensor, each once.
#pragma once

#include <limits>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The different slices of the constant x along `axis`, else its different elements in row-major
// order: in ascending order, slices by their first difference, or if `sorted` is 0 as they first
// occur. For each of them the index of the first like it and how many there are; for each slice of
// x its place in y. NaN equals NaN and is above all numbers. ONNX's Unique.
struct Unique {
  static constexpr OpInfo info{
      .name = "Unique",
      .inputs = "x:T!",
      .outputs = "y:T!, indices?:i64!, inverse_indices?:i64!, counts?:i64!"};
  static constexpr std::int64_t flattened = std::numeric_limits<std::int64_t>::min();
  std::int64_t axis = flattened, sorted = 1;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("sorted", self.sorted);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
