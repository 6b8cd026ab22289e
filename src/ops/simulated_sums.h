// SPDX-License-Identifier: Apache-2.0
// From the sums of a simulated product to the output of its op.
#pragma once

#include <cstdint>

#include "kernels/cpu/view.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Whole numbers of elements on: to[i] = sums[i] rounded to nearest even. `from` is of f32, or, for
// a result of f64, of f64.
void store_sums(const cpu::View& from, const void* sums, const cpu::View& to, void* out,
                std::int64_t* flushed);

// Columns j of `rows` dense rows of sums: += bias[j], in their format (f32, or f64).
void add_row(const Operand& bias, const void* values, std::int64_t rows, std::int64_t columns,
             void* sums);

}  // namespace narrowgauge
