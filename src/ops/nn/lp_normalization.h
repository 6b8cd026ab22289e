// SPDX-License-Identifier: Apache-2.0
// Normalizations without parameters: by a norm, and by mean and variance.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x / ||x||_p along `axis`, p = 1 or 2; 0 where the norm is 0.
struct LpNormalization {
  static constexpr OpInfo info{.name = "LpNormalization",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = deny};
  std::int64_t axis = -1, p = 2;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("p", self.p);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// (x - mean) / (sqrt(variance) + 1e-9), with mean and variance over `axes`.
struct MeanVarianceNormalization {
  static constexpr OpInfo info{.name = "MeanVarianceNormalization",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .precision = deny};
  Dims axes{0, 2, 3};
  static void attributes(auto& self, auto&& visit) { visit("axes", self.axes); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
