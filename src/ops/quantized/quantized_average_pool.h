// SPDX-License-Identifier: Apache-2.0
// AveragePool and GlobalAveragePool of quantised values, with the QuantizeLinear behind them, as
// one op: what the pass fuse_quantized makes of them.
#pragma once

#include <string>

#include "narrowgauge/op_record.h"
#include "ops/nn/window.h"

namespace narrowgauge {

// x stands for (x - x_zero) x_scale. With exact sums over the places of a window in x,
//   y = sum ((x_scale / y_scale) / count)
// in f32, where the count is that of AveragePool. y is f32 if there is no y_scale (a step is 1);
// else it has the dtype of y_zero: rounded to nearest even, moved by y_zero and saturated, NaN as
// y_zero. Without a kernel_shape there is one window over all of x.
struct QuantizedAveragePool {
  static constexpr OpInfo info{.name = "QuantizedAveragePool",
                               .domain = "ng",
                               .inputs =
                                   "x:X!, x_scale:f32!~, x_zero?:X!~, y_scale?:f32!~, "
                                   "y_zero?:Y!~",
                               .outputs = "y:any",
                               .types = "X:byte, Y:byte",
                               .stage = Stage::precise};
  std::string auto_pad = "NOTSET";
  std::int64_t ceil_mode = 0, count_include_pad = 0;
  Dims dilations{}, kernel_shape{}, pads{}, strides{};

  static void attributes(auto& self, auto&& visit) {
    visit_pool(self, visit);
    visit("count_include_pad", self.count_include_pad);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
