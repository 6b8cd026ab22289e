// SPDX-License-Identifier: Apache-2.0
// Converts whole rows between f32 and the storage formats, with the bits of tensor/values.h, at the
// speed of memory. Correct whatever MXCSR says: flush-to-zero is on during a run.
#pragma once

#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

// out[i] = float(in[i]). Elements of fewer than 8 bits are packed and begin at a whole byte.
void widen_row(DType from, const void* in, float* out, std::int64_t count);

// out[i] = in[i] in `to`: nearest even, integers saturated. Adds to *flushed, if given, the number
// of values that were not zero in f32 (subnormals count) and are zero in a floating `to`.
void narrow_row(const float* in, DType to, void* out, std::int64_t count,
                std::int64_t* flushed = nullptr);

}  // namespace narrowgauge::cpu
