// SPDX-License-Identifier: Apache-2.0
// One pass over all gradients before an update: whether all are finite, and their norm.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

struct GradientBuffer {
  ConstArray array;
  std::int64_t count = 0;
};

struct GradientHealth {
  bool finite = true;
  std::int64_t first_not_finite = -1;  // index of the first buffer that holds an inf or NaN
  double sum_of_squares = 0;           // of gradient * multiplier, in f64: f32 squares underflow
};

std::int64_t gradient_health_workspace(std::span<const GradientBuffer> gradients);  // bytes
GradientHealth gradient_health(std::span<const GradientBuffer> gradients, double multiplier,
                               void* workspace);

// The sum of squares of elements [begin, end) of f32, f16 or bf16, in f64; the same bits on any
// CPU.
double square_sum(ConstArray array, std::int64_t begin, std::int64_t end);
namespace avx512 {
double square_sum(ConstArray array, std::int64_t begin, std::int64_t end);
}

}  // namespace narrowgauge::cpu
