// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices. Integers have no gradient; mixed precision leaves them alone.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// y = (a - a_zero_point)(b - b_zero_point) in i32, modulo 2^32; shapes as in numpy.matmul. Zero
// points: one for all, or one for each row of a or column of b.
struct MatMulInteger {
  static constexpr OpInfo info{.name = "MatMulInteger",
                               .inputs = "A:A!~, B:B!~, a_zero_point?:A!~, b_zero_point?:B!~",
                               .outputs = "Y:i32~",
                               .types = "A:byte, B:byte"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// MatMulInteger, quantised again: round(sum a_scale b_scale / y_scale) + y_zero_point, halves to
// even, saturated, NaN to the least. The sum is rounded to f32, the factor computed in f32. Scales
// of a and b have the shapes of their zero points; y has one.
struct QLinearMatMul {
  static constexpr OpInfo info{
      .name = "QLinearMatMul",
      .inputs =
          "a:A!~, a_scale:S!~, a_zero_point:A!~, b:B!~, b_scale:S!~, b_zero_point:B!~, "
          "y_scale:S!~, y_zero_point:Y!~",
      .outputs = "y:Y~",
      .types = "A:byte, B:byte, Y:byte, S:float"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
