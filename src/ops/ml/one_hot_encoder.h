// SPDX-License-Identifier: Apache-2.0
// Categories as vectors, of ONNX's domain ai.onnx.ml.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Along a new last axis, 1 at the place of x, cut to a whole number, in cats_int64s, and 0
// elsewhere. Where it is not in there all is 0, or unless `zeros` the kernel throws DataError. Of a
// category that is listed twice the last place counts. ONNX's OneHotEncoder, without texts.
struct OneHotEncoder {
  static constexpr OpInfo info{.name = "OneHotEncoder",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:N!",
                               .outputs = "y:f32",
                               .types = "N:number"};
  Dims cats_int64s;
  std::int64_t zeros = 1;
  static void attributes(auto& self, auto&& visit) {
    visit("cats_int64s", self.cats_int64s);
    visit("zeros", self.zeros);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
