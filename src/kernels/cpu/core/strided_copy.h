// SPDX-License-Identifier: Apache-2.0
// Copies between strided views of the same dims: layout and number format in one pass.
#pragma once

#include <cstdint>

#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// out = in, through f32, nearest even; uses all threads unless nested. `from` may have strides of
// 0. Adds to *flushed, if given, the nonzero values that became zero. Both dtypes take whole bytes
// and are not f64.
void copy_strided(const View& from, const void* in, const View& to, void* out,
                  std::int64_t* flushed = nullptr);

// out[i] = sum of in[k * count + i] for k in [0, parts), in this order; `out` may be `in`.
void sum_parts(const float* in, std::int64_t parts, std::int64_t count, float* out);

}  // namespace narrowgauge::cpu
