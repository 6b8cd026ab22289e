// SPDX-License-Identifier: Apache-2.0
// Matrix products as a matrix unit computes them, bit by bit, on any CPU:
//
//   const UnitModel* unit = find_unit_model(MatrixUnit::h100, UnitFormat::f16, UnitFormat::f32);
//   const Tensor d = simulate_product(*unit, a, b);
//
// Units and formats: matrix_unit.h. The same bits for any number of threads.
#pragma once

#include <cstdint>

#include "narrowgauge/export.h"
#include "narrowgauge/matrix_unit.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// How f32 becomes tf32: libraries round to nearest even before they call the unit; the unit itself
// reads 10 mantissa bits of an f32 and drops the others.
enum class Tf32Rounding : std::uint8_t { nearest, truncate };

// The dtype that holds elements of a format: f32 for tf32; i8 and u8, one to a byte, for integers
// of four bits and one. Throws UsageError for block formats.
NG_API DType element_dtype(UnitFormat format);
// The format that values of a dtype have by themselves; f32 if units have none for it.
NG_API UnitFormat own_format(DType dtype);

// An operand as the unit reads it, and what rounding did to it.
struct NG_API RoundedOperand {
  Tensor values;                             // of element_dtype(format)
  std::int64_t changed = 0;                  // elements that are not what they were, NaN apart
  std::int64_t overflowed = 0, flushed = 0;  // of these: finite and no longer; zero and not before
  std::int64_t example = -1;                 // the changed element that lost most of its value
};

// Rounds every element to the format, to nearest even; tf32 as told. Throws UsageError for integers
// that do not fit. Blocks lie along k: the last axis (operand a), or the one before it (operand b).
NG_API RoundedOperand round_operand(const Tensor& operand, UnitFormat format,
                                    Tf32Rounding tf32 = Tf32Rounding::nearest,
                                    bool by_columns = false);

// d = c + a b for a [..., M, K] (or [K], one row) and b [K, N] (or [K], one column; or [..., K, N]
// with the leading dimensions of a), in the unit's result format: f32, f16, f64 or s32 (i32).
// Operands are first rounded to the unit's format, to nearest even; block formats as their
// standards say, with blocks along k (nvf4: the scales of the tensors multiply the product in f32,
// then c is added). c has the result's shape and is rounded to its format. K is cut into operations
// from its beginning, as a k-loop of `mma` instructions does. Throws UsageError for shapes that do
// not fit.
NG_API Tensor simulate_product(const UnitModel& unit, const Tensor& a, const Tensor& b,
                               const Tensor* c = nullptr);

// The dimensions of the product of a and b; errors name them so.
NG_API Dims product_dims(const Dims& a, const Dims& b);

}  // namespace narrowgauge
