// SPDX-License-Identifier: Apache-2.0
// ONNX's DFT (20) and STFT (17): the discrete Fourier transform of a signal, and of its frames, as
// a product with a matrix of cosines and sines: memory and time grow with the square of the length.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [..., n, ..., 1 or 2] (real, or real and imaginary parts) -> its transform along the constant
// `axis` (-2, if absent), over the constant dft_length (n, if absent): a shorter signal is followed
// by zeros, a longer one cut. `onesided` takes real x and gives the first dft_length / 2 + 1
// values; with `inverse` it takes these (dft_length is 2 (n - 1), if absent) and gives a real
// signal. The inverse is divided by dft_length.
struct DFT {
  static constexpr OpInfo info{.name = "DFT",
                               .inputs = "x:T~, dft_length?:I!, axis?:i64!",
                               .outputs = "y:T~",
                               .types = "T:float, I:index",
                               .precision = deny};
  std::int64_t inverse = 0, onesided = 0;

  static void attributes(auto& self, auto&& visit) {
    visit("inverse", self.inverse);
    visit("onesided", self.onesided);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// signal [N, length, 1 or 2] -> [N, frames, frame_length or, onesided, frame_length / 2 + 1, 2]:
// the transform of each frame times window [frame_length]. frame_step and frame_length are
// constant; the latter is the length of the window, or of the signal, if absent.
struct STFT {
  static constexpr OpInfo info{.name = "STFT",
                               .inputs = "signal:T~, frame_step:I!, window?:T~, frame_length?:I!",
                               .outputs = "y:T~",
                               .types = "T:float, I:index",
                               .precision = deny};
  std::int64_t onesided = 1;

  static void attributes(auto& self, auto&& visit) { visit("onesided", self.onesided); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
