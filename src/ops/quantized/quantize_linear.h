// SPDX-License-Identifier: Apache-2.0
// Quantises numbers to integers and back. Quantised values are constant almost everywhere, so that
// only the scale of DequantizeLinear has a gradient. Mixed precision leaves these ops alone.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y = round(x / y_scale) + y_zero_point, halves to even, saturated; NaN gives y_zero_point. There
// is one scale for all; one for each index of `axis` (a list); or, with block_size, one for each
// block of neighbours along `axis`. Arithmetic is f32, f64 for f64. y has the dtype of
// y_zero_point, else `output_dtype`: integers of at most 16 bits, or floats of 8 and 4 bits, which
// are not rounded to whole numbers; 8-bit floats saturate only if `saturate` is set. Scales may
// also be 8-bit floats, including f8e8m0.
struct QuantizeLinear {
  static constexpr OpInfo info{.name = "QuantizeLinear",
                               .inputs = "x:X!, y_scale:S!~, y_zero_point?:Z!~",
                               .outputs = "y:any",
                               .types = "X:number"};
  std::int64_t axis = 1, block_size = 0;
  DType output_dtype = DType::u8;
  std::int64_t saturate = 1;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("block_size", self.block_size);
    visit("output_dtype", self.output_dtype);
    visit("saturate", self.saturate);
  }
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

// y = (x - x_zero_point) x_scale in `output_dtype`, else in the dtype of x_scale, which must not
// have 8 bits then; scales as in QuantizeLinear. Scales of 8 bits have no gradient.
struct DequantizeLinear {
  static constexpr OpInfo info{.name = "DequantizeLinear",
                               .inputs = "x:X!, x_scale:S~, x_zero_point?:X!~",
                               .outputs = "y:any"};
  static constexpr DType dtype_of_scale = DType::b1;  // never that of y
  std::int64_t axis = 1, block_size = 0;
  DType output_dtype = dtype_of_scale;
  static void attributes(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("block_size", self.block_size);
    visit("output_dtype", self.output_dtype);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// y of u8 over the range of x, widened to include 0: y_scale = (max - min) / 255, y_zero_point =
// round(-min / y_scale). If all of x is 0, all results are 0.
struct DynamicQuantizeLinear {
  static constexpr OpInfo info{.name = "DynamicQuantizeLinear",
                               .inputs = "x:f32!~",
                               .outputs = "y:u8~, y_scale:f32~, y_zero_point:u8~"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
