// SPDX-License-Identifier: Apache-2.0
// Stores the sums of a simulated product in the output of its op.
#pragma once

#include <cstdint>

#include "kernels/cpu/core/view.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// to[i] = sums[i], rounded to nearest even. `from` is f32, or f64 for a result of f64.
void store_sums(const cpu::View& from, const void* sums, const cpu::View& to, void* out,
                std::int64_t* flushed);

// Adds bias[j] to column j of `rows` dense rows of sums, in the format of the sums (f32 or f64).
void add_row(const Operand& bias, const void* values, std::int64_t rows, std::int64_t columns,
             void* sums);

}  // namespace narrowgauge
