// SPDX-License-Identifier: Apache-2.0
// What Gemm does after its product, if that is more than adding a row.
#pragma once

#include <optional>

#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// y [M, N] = alpha * product + beta * c, rounded to y's dtype once. The product is dense f32, or
// f64 for a y of f64; c has y's dims, with strides of 0 where it repeats.
struct GemmEpilogue {
  double alpha = 1, beta = 1;
  std::optional<View> c;
  View y;
};

// Adds to *flushed, if given, how many results were not zero in f32 and became zero in y.
void gemm_epilogue(const GemmEpilogue& epilogue, const void* product, const void* c, void* y,
                   std::int64_t* flushed);

}  // namespace narrowgauge::cpu
