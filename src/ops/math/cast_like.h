// SPDX-License-Identifier: Apache-2.0
// Cast to the format of another tensor.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x in the dtype of `like`, whose values do not matter; saturate and round_mode are those of Cast.
struct CastLike {
  static constexpr OpInfo info{.name = "CastLike", .inputs = "x:S^, like:any!", .outputs = "y:any"};
  std::int64_t saturate = 1;
  std::string round_mode = "up";
  static void attributes(auto& self, auto&& visit) {
    visit("saturate", self.saturate);
    visit("round_mode", self.round_mode);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
