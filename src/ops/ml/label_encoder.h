// SPDX-License-Identifier: Apache-2.0
// Maps numbers to others by a table, of ONNX's domain ai.onnx.ml.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y[i] = the value of the last key that equals x[i], else the default. Keys and values are each one
// of keys_* and values_*, lists of one length, and the default is the one of the kind of the
// values: y has its dtype. NaN equals NaN. ONNX's LabelEncoder 4, without texts.
struct LabelEncoder {
  static constexpr OpInfo info{.name = "LabelEncoder",
                               .domain = "ai.onnx.ml",
                               .inputs = "x:K!",
                               .outputs = "y:any!",
                               .types = "K:number"};
  double default_float = 0;
  std::int64_t default_int64 = -1;
  Tensor default_tensor, keys_floats;
  Dims keys_int64s;
  Tensor keys_tensor, values_floats;
  Dims values_int64s;
  Tensor values_tensor;

  static void attributes(auto& self, auto&& visit) {
    visit("default_float", self.default_float);
    visit("default_int64", self.default_int64);
    visit("default_tensor", self.default_tensor);
    visit("keys_floats", self.keys_floats);
    visit("keys_int64s", self.keys_int64s);
    visit("keys_tensor", self.keys_tensor);
    visit("values_floats", self.values_floats);
    visit("values_int64s", self.values_int64s);
    visit("values_tensor", self.values_tensor);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
