// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/slice.h"

#include <algorithm>
#include <numeric>

#include "narrowgauge/graph.h"
#include "ops/reference.h"
#include "ops/shape/axes.h"
#include "ops/shape/indexing.h"
#include "ops/shape/move.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// One entry for each sliced axis.
struct Bounds {
  Shape starts, ends;
  Dims axes, steps;
};

struct AxisRange {
  Dim start, size;
  std::int64_t step = 1;
};

// ONNX says "to the end" by a number beyond any axis.
constexpr std::int64_t beyond = std::int64_t{1} << 30;

// Where slicing begins or ends for `bound`; `low` and `high` are the ends that the direction
// allows. While symbols are not bound, a bound counts as inside unless it is beyond every axis.
Dim clamped_bound(const Dim& given, const Dim& dim, const Dim& low, const Dim& high) {
  if (!given.is_known()) return given;
  const std::int64_t bound = given.value();
  if (dim.is_known()) {
    const std::int64_t position = bound < 0 ? bound + dim.value() : bound;
    return std::clamp(position, low.value(), std::max(low.value(), high.value()));
  }
  if (bound >= beyond) return high;
  if (bound <= -beyond) return low;
  return bound < 0 ? dim + bound : Dim(bound);
}

AxisRange range_along(std::string_view op, const Bounds& bounds, std::size_t entry,
                      const Dim& dim) {
  require(bounds.steps[entry] != 0, op, ": a step of 0 was given");
  if (dim == Dim(0)) return {0, 0, 1};
  // A step over the whole axis gives one element, however long the step is.
  const std::int64_t longest = dim.is_known() ? dim.value() : beyond;
  const std::int64_t step = std::clamp(bounds.steps[entry], -longest, longest);
  const Dim highest = step > 0 ? dim : dim - 1;
  const Dim start = clamped_bound(bounds.starts[entry], dim, 0, highest);
  const Dim end = clamped_bound(bounds.ends[entry], dim, step > 0 ? 0 : -1, highest);
  const Dim distance = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : -step;
  const Dim size = (distance + (stride - 1)) / stride;
  if (size.is_known()) return {start, std::max<std::int64_t>(0, size.value()), step};
  return {start, size, step};
}

std::vector<AxisRange> ranges_of(std::string_view op, const Bounds& bounds, const Shape& shape) {
  std::vector<AxisRange> ranges;
  for (const Dim& dim : shape) ranges.push_back({0, dim, 1});
  const std::vector<std::size_t> axes = normalize_axes(op, bounds.axes, shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    ranges[axes[i]] = range_along(op, bounds, i, shape[axes[i]]);
  return ranges;
}

Bounds checked(std::string_view op, Bounds bounds) {
  const std::size_t count = bounds.starts.size();
  if (bounds.axes.empty()) {
    bounds.axes.resize(count);
    std::iota(bounds.axes.begin(), bounds.axes.end(), 0);
  }
  if (bounds.steps.empty()) bounds.steps.assign(count, 1);
  require(
      bounds.ends.size() == count && bounds.axes.size() == count && bounds.steps.size() == count,
      op, ": starts ", bounds.starts, ", ends ", bounds.ends, ", axes ", bounds.axes, " and steps ",
      bounds.steps, " must be of one length");
  return bounds;
}

Shape shape_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

// `constant(i)` returns the values of input i, empty if it is absent.
template <class Constant>
Bounds bounds_from(const Constant& constant) {
  return checked("Slice", {shape_of(constant(1)), shape_of(constant(2)), constant(3), constant(4)});
}
Bounds bounds_from(const SliceGradient& op) {
  return checked("SliceGradient", {shape_of(op.starts), shape_of(op.ends), op.axes, op.steps});
}
Bounds bounds_from(const Inference& in) {
  return checked("Slice", {known_numbers(in, 1, "starts"), known_numbers(in, 2, "ends"),
                           constant_integers(in, 3, "axes"), constant_integers(in, 4, "steps")});
}

Shape sizes_of(const std::vector<AxisRange>& ranges) {
  Shape shape;
  for (const AxisRange& range : ranges) shape.push_back(range.size);
  return shape;
}

std::vector<AxisRange> ranges_of_slice(const Request& request) {
  const Bounds bounds = bounds_from([&](std::size_t i) {
    const bool given = i < request.inputs.size() && request.inputs[i].present;
    NG_INVARIANT(!given || request.inputs[i].constant);
    return given ? integers_of(*request.inputs[i].constant) : Dims{};
  });
  const Dims& dims = request.inputs[0].dims;
  return ranges_of("Slice", bounds, Shape(dims.begin(), dims.end()));
}

std::vector<AxisRange> ranges_of_gradient(const Request& request) {
  const auto& op = request.as<SliceGradient>();
  return ranges_of("SliceGradient", bounds_from(op), op.shape);
}

Offer offer_slice(const Request& request) {
  if (std::string reason = check_movable(request); !reason.empty())
    return Offer::decline(std::move(reason));
  std::vector<MovedRange> moved;
  for (const AxisRange& range : ranges_of_slice(request))
    moved.push_back({.size = range.size.value(), .from = range.start.value(), .step = range.step});
  return offer_moves(request, {move_ranges(request, 0, 0, moved)});
}

Offer offer_slice_gradient(const Request& request) {
  if (std::string reason = check_movable(request); !reason.empty())
    return Offer::decline(std::move(reason));
  std::vector<MovedRange> moved;
  for (const AxisRange& range : ranges_of_gradient(request))
    moved.push_back(
        {.size = range.size.value(), .to = range.start.value(), .target_step = range.step});
  const Move copy = move_ranges(request, 0, 0, moved);
  if (request.inputs[0].dims == request.outputs[0].dims) return offer_moves(request, {copy});
  return offer_moves(request, {fill(request, -1, 0), copy});
}

// The index in the whole tensor of element i of its slice.
std::int64_t source_of(std::int64_t i, const Dims& slice, const Dims& whole,
                       const std::vector<AxisRange>& ranges) {
  Dims position = position_of(i, slice);
  for (std::size_t a = 0; a < position.size(); ++a)
    position[a] = ranges[a].start.value() + position[a] * ranges[a].step;
  return index_of(position, whole);
}

Offer slice_reference(const Request& request) {
  return reference_offer(request, [ranges = ranges_of_slice(request)](
                                      const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      out[0].copy(i, in[0], source_of(i, out[0].dims(), in[0].dims(), ranges));
  });
}

Offer slice_gradient_reference(const Request& request) {
  return reference_offer(request, [ranges = ranges_of_gradient(request)](
                                      const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, 0);
    for (std::int64_t i = 0; i < in[0].size(); ++i)
      out[0].copy(source_of(i, in[0].dims(), out[0].dims(), ranges), in[0], i);
  });
}

constexpr Kernel slice_kernels[] = {{"copy", offer_slice}, {"reference", slice_reference}};
constexpr Kernel slice_gradient_kernels[] = {{"copy", offer_slice_gradient},
                                             {"reference", slice_gradient_reference}};

}  // namespace

TensorTypes Slice::infer(const Inference& in) const {
  return {{in.dtype(0), sizes_of(ranges_of("Slice", bounds_from(in), in.shape(0)))}};
}

std::optional<Shape> Slice::numbers(const Inference& in) const {
  const Shape* const numbers = in.numbers(0);
  if (!numbers || in.rank(0) != 1) return {};
  const AxisRange range = ranges_of("Slice", bounds_from(in), in.shape(0)).front();
  if (!range.start.is_known() || !range.size.is_known()) return {};
  Shape chosen;
  for (std::int64_t i = 0; i < range.size.value(); ++i)
    chosen.push_back(numbers->at(static_cast<std::size_t>(range.start.value() + i * range.step)));
  return chosen;
}

Values Slice::gradient(Gradient& g) const {
  const Bounds bounds = bounds_from([&](int i) {
    if (!g.has_input(i)) return Dims{};
    const Tensor* const known = g.graph().constant_value(g.input(i));
    require<UnknownValueError>(known, "Slice: its gradient takes constant bounds");
    return integers_of(*known);
  });
  Values result = g.absent_inputs();
  result[0] = g.add(SliceGradient{g.shape(g.input(0)), known_dims(bounds.starts),
                                  known_dims(bounds.ends), bounds.axes, bounds.steps},
                    {g.output_gradient()});
  return result;
}

TensorTypes SliceGradient::infer(const Inference& in) const {
  const Shape expected = sizes_of(ranges_of("SliceGradient", bounds_from(*this), shape));
  require(in.shape(0) == expected, "SliceGradient: dy must be of shape ", expected, ", got ",
          in.type(0));
  return {{in.dtype(0), shape}};
}

Values SliceGradient::gradient(Gradient& g) const {
  const Bounds bounds = bounds_from(*this);
  Values inputs{g.output_gradient()};
  for (const Dims& values :
       {known_dims(bounds.starts), known_dims(bounds.ends), bounds.axes, bounds.steps})
    inputs.push_back(g.constant(list_of(values)));
  return {g.add(Slice{}, inputs)};
}

std::span<const Kernel> Slice::kernels() { return slice_kernels; }
std::span<const Kernel> SliceGradient::kernels() { return slice_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(slice, narrowgauge::Slice, narrowgauge::SliceGradient)
