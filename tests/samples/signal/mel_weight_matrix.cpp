// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/mel_weight_matrix.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<MelWeightMatrix>> mel_weight_matrix_samples() {
  const auto integer = [](double value) { return sample(Tensor::scalar(DType::i64, value)); };
  const auto hertz = [](double value) { return sample(Tensor::scalar(DType::f32, value)); };
  return {{{}, {integer(8), integer(16), integer(8192), hertz(0), hertz(4096)}},
          {{.output_datatype = DType::f16},
           {integer(3), integer(9), integer(100), hertz(5), hertz(30)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(mel_weight_matrix, mel_weight_matrix_samples())
