// SPDX-License-Identifier: Apache-2.0
// ONNX 24's TensorScatter: writes new steps into a cache of keys or values.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// past [N, ..., cache, ...] -> present like it, with update [N, ..., steps, ...] written along
// `axis` from write_indices [N] (0, if absent) on. `mode` circular begins anew at the end of the
// cache; under linear the kernel throws DataError for a step behind it.
struct TensorScatter {
  static constexpr OpInfo info{.name = "TensorScatter",
                               .inputs = "past:T~, update:T~, write_indices?:i64~!",
                               .outputs = "present:T~",
                               .precision = clear};
  std::int64_t axis = -2;
  std::string mode = "linear";

  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("mode", self.mode);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// dy of present -> dpast, zero where something was written, and dupdate of the given shape, what
// was written over it.
struct TensorScatterGradient {
  static constexpr OpInfo info{.name = "TensorScatterGradient",
                               .domain = "ng",
                               .inputs = "dy:T~, write_indices?:i64~!",
                               .outputs = "dpast?:T~, dupdate?:T~",
                               .types = "T:float",
                               .precision = clear};
  std::int64_t axis = -2;
  std::string mode = "linear";
  Shape shape{};  // of dupdate

  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("mode", self.mode);
    visit("shape", self.shape);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
