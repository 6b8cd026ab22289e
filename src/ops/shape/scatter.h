// SPDX-License-Identifier: Apache-2.0
// Puts elements and slices into a tensor at given places. Negative indices count from the end;
// those outside their axis throw DataError at run time.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

constexpr OpInfo scatter_info(std::string_view name) {
  return {.name = name,
          .inputs = "data:T, indices:I!, updates:T",
          .outputs = "y:T",
          .types = "I:index",
          .precision = clear};
}

// data with updates, which have the shape of indices: y[i, indices[i, j, k], k] becomes updates[i,
// j, k], the index taken along `axis`. `reduction` is none (the last of several updates of a place
// stays), add, mul, max or min, computed in f64, integers exactly. The gradient of none counts on
// indices without duplicates, and that of mul divides by the updates.
struct ScatterElements {
  static constexpr OpInfo info = scatter_info("ScatterElements");
  std::int64_t axis = 0;
  std::string reduction = "none";
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("reduction", self.reduction);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// The same with places as in GatherND: y[indices[i..., :]...] becomes updates[i...], a slice if
// there are fewer places than axes.
struct ScatterND {
  static constexpr OpInfo info = scatter_info("ScatterND");
  std::string reduction = "none";
  static void attributes(auto& self, auto&& visit) { visit("reduction", self.reduction); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
