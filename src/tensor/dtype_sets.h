// SPDX-License-Identifier: Apache-2.0
// Sets of dtypes that more than one layer asks for.
#pragma once

#include "narrowgauge/dtype.h"

namespace narrowgauge {

// The narrow formats of mixed precision.
constexpr bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// What kernels read as f32, compute with in f32 and round once on storing.
constexpr bool is_f32_or_narrow(DType dtype) { return dtype == DType::f32 || is_narrow(dtype); }

}  // namespace narrowgauge
