// SPDX-License-Identifier: Apache-2.0
// Sums of two quantised values, quantised again: the residual additions of networks that other
// tools quantised.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/dtype.h"
#include "narrowgauge/isa.h"

namespace narrowgauge::cpu {

struct ByteTerm {
  DType dtype = DType::u8;  // or i8
  float scale = 1, zero = 0;
};

// y = round(bound((a - a_zero) a_scale + (b - b_zero) b_scale) / y_scale) + y_zero, in f32, each
// step rounded to nearest even, within [y_low, y_high], which are bytes.
struct ByteSum {
  ByteTerm a, b, y;
  bool relu = false;  // bound(x) = max(x, 0)
  float y_low = 0, y_high = 255;
};

// Why the kernel does not take it; "" if it does.
std::string byte_sum_reason(const ByteSum& sum, Isa isa);

namespace avx512 {
// Computes `count` bytes of y from as many of a and b.
void add_bytes(const ByteSum& sum, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y,
               std::int64_t count);
}  // namespace avx512

}  // namespace narrowgauge::cpu
