// SPDX-License-Identifier: Apache-2.0
// What the formulas of normalizations share: means over the last axes, computed in f32 (f64 for
// f64).
#pragma once

#include "ops/pointwise/in_dtype.h"

namespace narrowgauge {

// The shapes that follow from x's shape and the first axis of its rows.
struct NormalizedShapes {
  Shape normalized, statistics;
  NormalizedShapes(std::string_view op, const Shape& x, std::int64_t axis);
};

// Formulas over the rows of a value, which are its axes from `axis` on.
class NormalizedRows {
 public:
  NormalizedRows(Rewriting& r, Value like, std::int64_t axis);

  Expression wide(Value value) const { return cast(value, dtype_); }
  Expression cast(Value value, DType dtype) const { return in_dtype(r_, value, dtype); }
  // The mean over the normalized axes, which keep size 1.
  Expression mean(Value value) const { return over_count(sum_to(value, shapes_.statistics)); }
  Expression over_count(Expression value) const;
  // Sums over the other axes.
  Expression sum_of_rows(Value value) const { return sum_to(value, shapes_.normalized); }

 private:
  Expression sum_to(Value value, const Shape& shape) const;

  Rewriting& r_;
  DType dtype_;
  NormalizedShapes shapes_;
};

}  // namespace narrowgauge
