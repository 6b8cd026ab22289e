// SPDX-License-Identifier: Apache-2.0
// Converts elements a stride apart, as convert.h does dense rows.
#pragma once

#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

// out[i] = in[i * stride]; the dtype has whole bytes.
void widen_run(DType from, const void* in, std::int64_t stride, float* out, std::int64_t count);

// out[i * stride] = in[i]; flushed as in narrow_row.
void narrow_run(const float* in, DType to, void* out, std::int64_t stride, std::int64_t count,
                std::int64_t* flushed = nullptr);

}  // namespace narrowgauge::cpu
