// SPDX-License-Identifier: Apache-2.0
// Window functions of signal processing (Harris, "On the use of windows for harmonic analysis with
// the discrete Fourier transform", 1978).
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// a0 - a1 cos(t) + a2 cos(2 t)
struct WindowShape {
  std::string_view name;
  double a0, a1, a2;
};
inline constexpr WindowShape hann_window{"HannWindow", 0.5, 0.5, 0};
inline constexpr WindowShape hamming_window{"HammingWindow", 25.0 / 46, 21.0 / 46, 0};
inline constexpr WindowShape blackman_window{"BlackmanWindow", 0.42, 0.5, 0.08};

// A window of `size` (constant) elements in `output_datatype`. t runs over one period in `size`
// steps, or in size - 1, so that the window is symmetric, if `periodic` is 0.
template <const WindowShape& shape>
struct Window {
  static constexpr OpInfo info{
      .name = shape.name, .inputs = "size:I!", .outputs = "y:any", .types = "I:index"};
  DType output_datatype = DType::f32;
  std::int64_t periodic = 1;
  static void attributes(auto& self, auto&& visit) {
    visit("output_datatype", self.output_datatype);
    visit("periodic", self.periodic);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

using HannWindow = Window<hann_window>;
using HammingWindow = Window<hamming_window>;
using BlackmanWindow = Window<blackman_window>;

}  // namespace narrowgauge
