// SPDX-License-Identifier: Apache-2.0
// Numbers as they lie in memory, from one format to another as the kernels do it.
#pragma once

#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge {

// One of number_formats(), where tf32 lies in 32 bits as the f32 that it is, or i4.
struct RawFormat {
  DType dtype = DType::f32;
  bool tf32 = false;
};

// Converts by the kernels' own functions where f32 is on one side.
void convert_raw(RawFormat from, const void* in, RawFormat to, void* out, std::int64_t count);

}  // namespace narrowgauge
