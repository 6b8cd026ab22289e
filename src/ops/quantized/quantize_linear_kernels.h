// SPDX-License-Identifier: Apache-2.0
// The kernels of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#pragma once

#include <span>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Quantised dtypes that are not rounded to whole numbers.
inline bool is_small_float(DType dtype) {
  return is_floating(dtype) && bits(dtype) <= 8 && dtype != DType::f8e8m0;
}

std::span<const Kernel> quantize_linear_kernels();
std::span<const Kernel> dequantize_linear_kernels();
std::span<const Kernel> dynamic_quantize_kernels();

}  // namespace narrowgauge
