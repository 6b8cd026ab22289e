// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of bytes, exact in int32: u8 and s8 in each order, on AMX tiles, on
// VNNI, else on AVX2, with the same bits everywhere. int8_blocks.h has the layout and the proof.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

constexpr bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

// Numbers read when the kernel runs: one for all, or one for each row or column.
struct Int8Numbers {
  DType dtype = DType::u8;
  std::int64_t count = 0;  // none: zero, or a scale of 1
  int input = -1;          // of Call::inputs
};

// What turns products of bytes into products of the numbers they stand for: (a - a_zero) a_scale.
// Rows of a have zeros, scales and a bias (i32) of their own, columns of b zeros and scales. If y
// is i32 there are no scales.
struct Int8Quantities {
  Int8Numbers a_zero, b_zero, bias;
  Int8Numbers a_scale, b_scale, y_scale, y_zero;
  bool y_signed = false;
};

// round((a b + bias) a_scale b_scale / y_scale). The factors of row and column are (a_scale
// b_scale) / y_scale for one of them and 1 for the other if one has a single scale; a_scale /
// y_scale and b_scale if each has its own.
struct Int8Scales {
  float row, column;
};
Int8Scales int8_scales(const std::array<float, 3>& scales, bool one_a, bool one_b);

struct Int8Operands {
  View a, b, y;                      // u8 or i8 each, y also i32
  const void* a_constant = nullptr;  // the values, where they are known: packed once
  const void* b_constant = nullptr;
};

// Why the kernels cannot take a product; "" when they can.
std::string int8_matmul_reason(const Int8Operands& operands);

// y [..., M, N] = a [..., M, K] b [..., K, N], shapes as in MatMulViews. Call::inputs 0 and 1 are a
// and b. `threads`: 0 for thread_count().
Prepared prepare_int8_matmul(const Int8Operands& operands, const Int8Quantities& quantities,
                             int threads = 0);

// a is w [M, C / groups, kernel...], whose output channels are the rows; b is x [N, C, spatial...],
// whose pixels are the columns, with one zero and scale for all; y is [N, M, spatial...]. All are
// dense in this order. Pads count as b_zero. Call::inputs 0 and 1 are w and x.
std::string int8_convolution_reason(const Int8Operands& operands);
Prepared prepare_int8_convolution(const Int8Operands& operands, const ConvolutionWindow& window,
                                  const Int8Quantities& quantities, int threads = 0);

}  // namespace narrowgauge::cpu
