// SPDX-License-Identifier: Apache-2.0
// Chooses elements and slices by their places. Negative indices count from the end; those outside
// their axis throw DataError at run time.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

constexpr OpInfo gather_info(std::string_view name) {
  return {.name = name,
          .inputs = "data:T, indices:I!",
          .outputs = "y:T",
          .types = "I:index",
          .precision = clear};
}

// y has the shape of indices: y[i, j, k] = data[i, indices[i, j, k], k], the index taken along
// `axis`.
struct GatherElements {
  static constexpr OpInfo info = gather_info("GatherElements");
  std::int64_t axis = 0;
  static void attributes(auto& self, auto&& visit) { visit("axis", self.axis); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// y[b..., i...] = data[b..., indices[b..., i..., :]...], with batch_dims leading axes b: the last
// axis of indices holds places along as many axes of data.
struct GatherND {
  static constexpr OpInfo info = gather_info("GatherND");
  std::int64_t batch_dims = 0;
  static void attributes(auto& self, auto&& visit) { visit("batch_dims", self.batch_dims); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
