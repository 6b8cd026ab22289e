// SPDX-License-Identifier: Apache-2.0
#include "ops/normalization/normalized_rows.h"

#include "ops/axes/axes.h"
#include "ops/shape/broadcast_gradient.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

NormalizedShapes::NormalizedShapes(std::string_view op, const Shape& x, std::int64_t axis)
    : statistics(x) {
  const auto first = static_cast<std::ptrdiff_t>(normalize_axis(op, axis, x.size()));
  normalized.assign(x.begin() + first, x.end());
  std::fill(statistics.begin() + first, statistics.end(), Dim(1));
}

NormalizedRows::NormalizedRows(Rewriting& r, Value like, std::int64_t axis)
    : r_(r), dtype_(statistics_dtype(r.type(like).dtype)), shapes_("rows", r.shape(like), axis) {}

Expression NormalizedRows::over_count(Expression value) const {
  const Dim count = element_count(shapes_.normalized);
  if (count.is_known()) return value / static_cast<double>(count.value());
  const Value ones = r_.add(ExpandTo{shapes_.normalized}, {r_.scalar(1, dtype_)});
  return value / sum_to(ones, {});
}

Expression NormalizedRows::sum_to(Value value, const Shape& shape) const {
  if (r_.shape(value) == shape) return {r_, value};
  return {r_, r_.add(BroadcastGradient{shape}, {value})};
}

}  // namespace narrowgauge
