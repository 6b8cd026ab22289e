// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/views.h"

#include "base/enumerate.h"
#include "narrowgauge/graph.h"
#include "ops/shape/axes.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

Values reshape_back(Gradient& g) {
  Values result = g.absent_inputs();
  result[0] = g.add(ReshapeTo{g.shape(g.input(0))}, {g.output_gradient()});
  return result;
}

// Dimensions copied from x would be on both sides of the division, where a symbol over itself would
// remain; they are left out.
Dim rest_of(const TensorType& x, const Shape& wanted, bool zero_is_size) {
  Dim total(1), given(1);
  for (std::size_t i = 0; i < std::max(x.shape.size(), wanted.size()); ++i) {
    const bool copied = i < wanted.size() && wanted[i] == Dim(0) && !zero_is_size;
    if (i < x.shape.size() && !copied) total = total * x.shape[i];
    if (i < wanted.size() && wanted[i] != Dim(-1) && !copied) given = given * wanted[i];
  }
  require(!given.is_known() || given.value() != 0, "Reshape: -1 beside a size of 0 in ", wanted);
  return total / given;
}

Shape reshaped(const TensorType& x, const Shape& wanted, bool zero_is_size) {
  Shape shape;
  int unknown = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    require(!wanted[i].is_known() || wanted[i].value() >= -1,
            "Reshape: sizes must be -1 or more, got ", wanted);
    unknown += wanted[i] == Dim(-1);
    const bool copied = wanted[i] == Dim(0) && !zero_is_size;
    require(!copied || i < x.shape.size(), "Reshape: size 0 at axis ", i, " has no axis in ", x);
    if (wanted[i] == Dim(-1))
      shape.push_back(rest_of(x, wanted, zero_is_size));
    else
      shape.push_back(copied ? x.shape[i] : wanted[i]);
  }
  require(unknown <= 1, "Reshape: more than one -1 in ", wanted);
  return shape;
}

Shape without_axes(const Inference& in, const Dims& given) {
  std::vector<bool> gone(in.shape(0).size());
  for (const std::size_t axis : normalize_axes("Squeeze", given, in.shape(0).size())) {
    const Dim& dim = in.shape(0)[axis];
    require(!dim.is_known() || dim == Dim(1), "Squeeze: axis ", axis, " of ", in.type(0),
            " is not of size 1");
    gone[axis] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) shape.push_back(in.shape(0)[i]);
  return shape;
}

Dims axes_of_one(const Inference& in) {
  require(is_known(in.shape(0)), "Squeeze: axes must be given for ", in.type(0),
          ", whose symbols may become 1");
  Dims axes;
  for (const auto& [axis, dim] : enumerate(in.shape(0)))
    if (dim == Dim(1)) axes.push_back(axis);
  return axes;
}

}  // namespace

TensorTypes Reshape::infer(const Inference& in) const {
  const Shape shape = reshaped(in.type(0), known_numbers(in, 1, "shape"), allowzero != 0);
  const Dim before = element_count(in.shape(0)), after = element_count(shape);
  require(before == after || !before.is_known() || !after.is_known(), "Reshape: ", in.type(0),
          " has ", before, " elements, ", shape, " has ", after);
  return {{in.dtype(0), shape}};
}

TensorTypes Flatten::infer(const Inference& in) const {
  const std::int64_t rank = in.rank(0);
  require(axis >= -rank && axis <= rank, "Flatten: axis ", axis, " is outside ", in.type(0));
  const std::int64_t first = axis < 0 ? axis + rank : axis;
  Shape shape{1, 1};
  for (const auto& [i, size] : enumerate(in.shape(0))) {
    Dim& dim = shape[i < first ? 0 : 1];
    dim = dim * size;
  }
  return {{in.dtype(0), shape}};
}

TensorTypes Squeeze::infer(const Inference& in) const {
  const Dims axes = in.has(1) ? constant_integers(in, 1, "axes") : axes_of_one(in);
  return {{in.dtype(0), without_axes(in, axes)}};
}

TensorTypes Unsqueeze::infer(const Inference& in) const {
  const Dims given = constant_integers(in, 1, "axes");
  std::vector<bool> added(in.shape(0).size() + given.size());
  for (const std::size_t axis : normalize_axes("Unsqueeze", given, added.size()))
    added[axis] = true;
  Shape shape;
  for (std::size_t i = 0, from = 0; i < added.size(); ++i)
    shape.push_back(added[i] ? Dim(1) : in.shape(0)[from++]);
  return {{in.dtype(0), shape}};
}

std::optional<Shape> Reshape::numbers(const Inference& in) const { return same_numbers(in); }
std::optional<Shape> Squeeze::numbers(const Inference& in) const { return same_numbers(in); }
std::optional<Shape> Unsqueeze::numbers(const Inference& in) const { return same_numbers(in); }

Values Reshape::gradient(Gradient& g) const { return reshape_back(g); }
Values Flatten::gradient(Gradient& g) const { return reshape_back(g); }
Values Squeeze::gradient(Gradient& g) const { return reshape_back(g); }
Values Unsqueeze::gradient(Gradient& g) const { return reshape_back(g); }

std::span<const Kernel> Reshape::kernels() { return view_kernels(); }
std::span<const Kernel> Flatten::kernels() { return view_kernels(); }
std::span<const Kernel> Squeeze::kernels() { return view_kernels(); }
std::span<const Kernel> Unsqueeze::kernels() { return view_kernels(); }

}  // namespace narrowgauge

NG_OPS(views, narrowgauge::Reshape, narrowgauge::Flatten, narrowgauge::Squeeze,
       narrowgauge::Unsqueeze)
