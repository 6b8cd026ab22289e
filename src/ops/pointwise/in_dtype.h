// SPDX-License-Identifier: Apache-2.0
// Formulas that are computed in a wider dtype than their operands have.
#pragma once

#include "ops/pointwise/cast.h"
#include "ops/pointwise/expression.h"

namespace narrowgauge {

// The dtype for sums and statistics of values of `dtype`: f32, or f64 for f64.
inline DType statistics_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

inline Expression in_dtype(Rewriting& r, Value value, DType dtype) {
  if (r.type(value).dtype == dtype) return {r, value};
  return {r, r.add(Cast{.to = dtype}, {value})};
}
// The value in statistics_dtype().
inline Expression widened(Rewriting& r, Value value) {
  return in_dtype(r, value, statistics_dtype(r.type(value).dtype));
}

}  // namespace narrowgauge
