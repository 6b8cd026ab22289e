// SPDX-License-Identifier: Apache-2.0
// A group of ops that runs as one kernel. The body is a closed graph of f32 values (f64 in f64
// graphs); narrow inputs and bytes are widened when read, outputs rounded once when stored.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

struct Fused {
  static constexpr OpInfo info{.name = "Fused",
                               .domain = "ng",
                               .inputs = "x*:any",
                               .outputs = "y*:any",
                               .stage = Stage::fused};
  Region body;
  std::string dtypes;  // of the outputs as stored: "f16,f32"
  static void attributes(auto& self, auto&& visit) {
    visit("dtypes", self.dtypes);
    visit("body", self.body);
  }
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// The dtype inside a body of values that have this dtype outside. Bytes are f32 there, as they are
// read only to be dequantised, and what is quantised is whole numbers.
DType inside_dtype(DType outside);

}  // namespace narrowgauge
