// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/windows.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <const WindowShape& shape>
std::vector<Sample<Window<shape>>> window_samples() {
  const auto size = [](double value) { return sample(Tensor::scalar(DType::i64, value)); };
  return {{{}, {size(10)}},
          {{.periodic = 0}, {size(7)}},
          {{.output_datatype = DType::f16}, {sample(Tensor::scalar(DType::i32, 5))}},
          {{.periodic = 0}, {size(1)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(windows, window_samples<hann_window>(), window_samples<hamming_window>(),
           window_samples<blackman_window>())
