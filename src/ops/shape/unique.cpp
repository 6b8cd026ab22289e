// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/unique.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/enumerate.h"
#include "base/indexed_vector.h"
#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/shape/gather.h"
#include "ops/shape/lines.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

bool less(std::int64_t a, std::int64_t b) { return a < b; }
bool less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// The slices of a tensor along an axis, compared element by element.
template <class Number>
class ComparedSlices {
 public:
  ComparedSlices(IndexedVector<std::int64_t, Number> values, const Dims& dims, std::size_t axis)
      : values_(std::move(values)), lines_(dims, axis) {}
  std::int64_t count() const { return lines_.length; }
  bool before(std::int64_t i, std::int64_t j) const {
    for (std::int64_t line = 0; line < lines_.count; ++line) {
      const Number a = values_[lines_.at(line, i)], b = values_[lines_.at(line, j)];
      if (less(a, b) || less(b, a)) return less(a, b);
    }
    return false;
  }

 private:
  IndexedVector<std::int64_t, Number> values_;
  Lines lines_;
};

using Groups = std::vector<Dims>;  // indices of equal slices, ascending in each group

template <class Number>
Groups groups_of(const ComparedSlices<Number>& slices) {
  IndexedVector<std::int64_t, std::int64_t> order(slices.count());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t j) { return slices.before(i, j); });
  Groups groups;
  for (const std::int64_t i : order) {
    if (groups.empty() || slices.before(groups.back().front(), i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

Groups groups_of(const Unique& op, const Tensor& x) {
  const bool flat = op.axis == Unique::flattened;
  const Dims dims = flat ? Dims{x.size()} : x.dims();
  const std::size_t axis = flat ? 0 : normalize_axis("Unique", op.axis, dims.size());
  Groups groups;
  if (x.dtype() == DType::i64) {
    IndexedVector<std::int64_t, std::int64_t> values(integers_of(x));
    groups = groups_of(ComparedSlices<std::int64_t>(std::move(values), dims, axis));
  } else {
    IndexedVector<std::int64_t, double> values(x.size());
    for (std::int64_t i = 0; i < x.size(); ++i) values[i] = x.at(i);
    groups = groups_of(ComparedSlices<double>(std::move(values), dims, axis));
  }
  if (op.sorted == 0) std::sort(groups.begin(), groups.end());
  return groups;
}

}  // namespace

TensorTypes Unique::infer(const Inference& in) const {
  const Tensor& x = in.known(0, "x");
  const std::int64_t count = std::ssize(groups_of(*this, x));
  Shape shape = axis == flattened ? Shape{x.size()} : in.shape(0);
  Dim& along = shape[axis == flattened ? 0 : normalize_axis("Unique", axis, shape.size())];
  const Dim slices = along;
  along = count;
  return {
      {in.dtype(0), shape}, {DType::i64, {count}}, {DType::i64, {slices}}, {DType::i64, {count}}};
}

Values Unique::decompose(Rewriting& r) const {
  const Tensor constant = *r.graph().constant_value(r.input(0));
  const Groups groups = groups_of(*this, constant);
  Dims first, counts;
  for (const Dims& group : groups) {
    first.push_back(group.front());
    counts.push_back(std::ssize(group));
  }
  IndexedVector<std::int64_t, std::int64_t> inverse(
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  for (const auto& [place, group] : enumerate(groups))
    for (const std::int64_t slice : group) inverse[slice] = place;
  Value x = r.input(0);
  if (axis == flattened) x = r.add(ReshapeTo{{constant.size()}}, {x});
  const Value indices = r.constant(list_of(first));
  const Value y = r.add(Gather{axis == flattened ? 0 : axis}, {x, indices});
  return {y, indices, r.constant(list_of(std::move(inverse).release())),
          r.constant(list_of(counts))};
}

std::span<const Kernel> Unique::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(unique, narrowgauge::Unique)
NG_NO_GRADIENT(unique, "made of known numbers", narrowgauge::Unique)
