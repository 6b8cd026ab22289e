// SPDX-License-Identifier: Apache-2.0
// Which model of a matrix unit a simulated contraction is computed by.
#pragma once

#include <string>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

// The format that values of a dtype have by themselves; f32 of all that units have no format of.
UnitFormat own_format(DType dtype);

// For a simulated math and values of a dtype: the format that was named, else that of the values;
// f32 values as tf32 where a GPU has it and TF32 is allowed, else as a chain of FMAs in f32. Sums
// are f32, of f64 f64. Throws UsageError naming what the unit has where it lacks the format, and
// for what is unresolved, unless NARROWGAUGE_SIM_UNRESOLVED=1.
const UnitModel& unit_model(Math math, DType dtype);
// Whether there is one for f64, which few units have; else f64 is computed in ieee.
bool multiplies_f64(Math math);

// Whether f32 values are to be rounded to TF32, were it allowed.
bool asks_for_tf32(Math math, DType dtype);

// "tf32 operands, 4 products at once, cut to 24 bits; verified"
std::string describe(const UnitModel& model);

}  // namespace narrowgauge
