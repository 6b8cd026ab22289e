// SPDX-License-Identifier: Apache-2.0
// Sums frequencies into bands as wide as the ear's.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// The matrix [dft_length / 2 + 1, num_mel_bins] that a spectrum is multiplied with. Its columns are
// triangles whose corners are evenly spaced on the mel scale, 2595 log10(1 + f / 700) for f in
// hertz, from the lower edge towards the upper one, and rounded down to places in the spectrum. All
// inputs are constant numbers.
struct MelWeightMatrix {
  static constexpr OpInfo info{.name = "MelWeightMatrix",
                               .inputs =
                                   "num_mel_bins:I!, dft_length:I!, sample_rate:I!, "
                                   "lower_edge_hertz:F!, upper_edge_hertz:F!",
                               .outputs = "y:any",
                               .types = "I:index, F:float"};
  DType output_datatype = DType::f32;
  static void attributes(auto& self, auto&& visit) {
    visit("output_datatype", self.output_datatype);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
