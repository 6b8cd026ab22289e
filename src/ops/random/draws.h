// SPDX-License-Identifier: Apache-2.0
// Random outcomes of given probabilities: functions of (seed, step, node name, element).
#pragma once

#include "ops/random/distributions.h"

namespace narrowgauge {

// 1 with the probability that p says, else 0, in the dtype of p unless `dtype` is given. A p below
// 0, or NaN, counts as 0, one above 1 as 1. ONNX's Bernoulli.
struct Bernoulli {
  static constexpr OpInfo info{.name = "Bernoulli",
                               .inputs = "p:P!",
                               .outputs = "y:any!",
                               .types = "P:float",
                               .random = true};
  DType dtype = dtype_of_input;
  double seed = seed_of_run;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("seed", self.seed);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// logits [N, classes] -> [N, sample_size] of class indices in `dtype`, i32 or i64, each drawn with
// the probabilities softmax(logits). The kernel throws DataError for a row in which no logit is
// above -inf, or one is NaN or +inf. ONNX's Multinomial.
struct Multinomial {
  static constexpr OpInfo info{.name = "Multinomial",
                               .inputs = "logits:P!",
                               .outputs = "y:any!",
                               .types = "P:float",
                               .random = true};
  DType dtype = DType::i32;
  std::int64_t sample_size = 1;
  double seed = seed_of_run;
  static void attributes(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("sample_size", self.sample_size);
    visit("seed", self.seed);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
