// SPDX-License-Identifier: Apache-2.0
// The ways in which kernels multiply, and the contracts that each keeps: one table for all
// contractions.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

enum class Way : std::uint8_t {
  exact,  // narrow operands multiplied exactly, f32 and f64 as they are
  tiles,  // bf16 exactly; f32 and f16 as the sum of two bf16, in three products (bf16x3)
  pairs,  // bf16 exactly, on units for pairs
  dfp16,  // integers of 16 bits under a scale of a block
  tf32    // f32 rounded to TF32, once or in two parts
};

// Why products of this dtype in this way are not what the contract asks for; "" if they are.
std::string way_reason(Way way, Math math, DType dtype, const Target& target);

}  // namespace narrowgauge
