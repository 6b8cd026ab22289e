// SPDX-License-Identifier: Apache-2.0
// The kernels of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#pragma once

#include <span>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Quantised dtypes that are not rounded to whole numbers.
constexpr bool is_small_float(DType dtype) {
  return dtype == DType::f8e4m3fn || dtype == DType::f8e5m2 || dtype == DType::f4e2m1;
}

std::span<const Kernel> quantize_linear_kernels();
std::span<const Kernel> dequantize_linear_kernels();
std::span<const Kernel> dynamic_quantize_kernels();

}  // namespace narrowgauge
