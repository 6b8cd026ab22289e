// SPDX-License-Identifier: Apache-2.0
// Turns sequences of different lengths round.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// For each index of `batch_axis`, the first sequence_lens[index] elements along `time_axis` in
// reverse order, the others as they are. One of the axes is 0, the other 1. Throws DataError at run
// time for a length outside the axis.
struct ReverseSequence {
  static constexpr OpInfo info{.name = "ReverseSequence",
                               .inputs = "x:T, sequence_lens:i64!",
                               .outputs = "y:T",
                               .precision = clear};
  std::int64_t batch_axis = 1, time_axis = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("batch_axis", self.batch_axis);
    visit("time_axis", self.time_axis);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
