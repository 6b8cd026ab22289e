// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/dft.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

SampleInput number(double value) { return sample(Tensor::scalar(DType::i64, value)); }

std::vector<Sample<DFT>> dft_samples() {
  return {
      {{}, {sample("f32[2,5,1]")}},
      {{.onesided = 1}, {sample("f32[2,6,3,1]"), number(7), number(1)}},
      {{.inverse = 1}, {sample("f32[2,6,3,2]"), number(4), number(-3)}},
      {{.inverse = 1, .onesided = 1}, {sample("f32[2,4,2]")}},
      {{.inverse = 1, .onesided = 1}, {sample("f32[2,4,2]"), number(5)}},
  };
}

std::vector<Sample<STFT>> stft_samples() {
  return {
      {{}, {sample("f32[2,9,1]"), number(2), sample("f32[4]"), number(4)}},
      {{.onesided = 0}, {sample("f32[2,7,2]"), number(3), no_sample(), number(3)}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(dft, dft_samples(), stft_samples())
