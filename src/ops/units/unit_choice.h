// SPDX-License-Identifier: Apache-2.0
// Which model of a matrix unit computes a simulated contraction.
#pragma once

#include <string>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// The model for a simulated math and values of a dtype. Its format is the one named, else that of
// the values; f32 values as tf32 if a GPU has it and TF32 is allowed, else as a chain of FMAs in
// f32. Sums are f32, for f64 f64. Throws UsageError naming the unit's formats if it lacks this one,
// and for unresolved models unless NARROWGAUGE_SIM_UNRESOLVED=1.
const UnitModel& unit_model(Math math, DType dtype);
// Whether the unit multiplies f64, as few do; else f64 is computed in ieee.
bool multiplies_f64(Math math);

// Whether f32 values would be rounded to TF32 if that is allowed.
bool asks_for_tf32(Math math, DType dtype);

// "tf32 operands, 4 products at once, cut to 24 bits; verified"
std::string describe(const UnitModel& model);

}  // namespace narrowgauge
