// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/window.h"

#include <algorithm>

namespace narrowgauge {

namespace {

bool is_same(const WindowAttributes& a) {
  return a.auto_pad == "SAME_UPPER" || a.auto_pad == "SAME_LOWER";
}

// The extent that the taps of a window span.
std::int64_t extent(const WindowAttributes& a, std::size_t axis) {
  return (a.kernel[axis] - 1) * entry_or(a.dilations, axis, 1) + 1;
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Output size in ceil_mode, without windows that would begin after the input, in the padding.
Dim ceil_output(const WindowAttributes& a, const Dim& input, std::size_t axis) {
  const std::int64_t stride = entry_or(a.strides, axis, 1), begin = entry_or(a.pads, axis, 0),
                     end = a.pads.empty() ? 0 : a.pads[axis + a.kernel.size()];
  const Dim room = input + begin + end - extent(a, axis);
  const Dim output = (room + stride - 1) / stride + 1;
  const bool may_begin_behind = end + stride > extent(a, axis);
  if (!input.is_known()) {
    require(!may_begin_behind, a.op, ": ceil_mode over the unknown size ", input,
            " needs windows at least as long as stride and end pad together");
    return output;
  }
  const bool begins_behind = (output.value() - 1) * stride >= input.value() + begin;
  return begins_behind ? output - 1 : output;
}

Dim output_size(const WindowAttributes& a, const Dim& input, std::size_t axis) {
  const std::int64_t stride = entry_or(a.strides, axis, 1);
  if (is_same(a)) return (input + stride - 1) / stride;
  const bool padded = a.auto_pad != "VALID" && !a.pads.empty();
  const std::int64_t pads = padded ? a.pads[axis] + a.pads[axis + a.kernel.size()] : 0;
  require(!input.is_known() || input.value() + pads >= extent(a, axis), a.op, ": a window of ",
          extent(a, axis), " does not fit into ", input, " with pads of ", pads);
  if (a.ceil_mode) return ceil_output(a, input, axis);
  return (input + pads - extent(a, axis)) / stride + 1;
}

}  // namespace

void check_spatial_list(std::string_view op, std::string_view list, const Dims& values,
                        std::size_t count, std::int64_t least) {
  require(values.empty() || values.size() == count, op, ": expected ", count, " values in ", list,
          ", got ", values);
  // Values are below 2^31, so that products and sums of two cannot overflow.
  const auto legal = [&](std::int64_t v) { return v >= least && v <= INT32_MAX; };
  require(std::all_of(values.begin(), values.end(), legal), op, ": ", list, " must be at least ",
          least, " and below 2^31, got ", values);
}

void check_window(const WindowAttributes& a, std::size_t axes) {
  require(axes >= 1 && axes <= 3, a.op, ": expected one to three spatial axes, got ", axes);
  require(a.kernel.size() == axes, a.op, ": expected a kernel_shape of ", axes, " values, got ",
          a.kernel);
  check_spatial_list(a.op, "kernel_shape", a.kernel, axes, 1);
  check_spatial_list(a.op, "strides", a.strides, axes, 1);
  check_spatial_list(a.op, "dilations", a.dilations, axes, 1);
  check_spatial_list(a.op, "pads", a.pads, 2 * axes, 0);
  require(a.auto_pad == "NOTSET" || a.auto_pad == "VALID" || is_same(a), a.op,
          ": auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got '", a.auto_pad, "'");
  const bool pads = std::any_of(a.pads.begin(), a.pads.end(), [](auto pad) { return pad != 0; });
  require(a.auto_pad == "NOTSET" || !pads, a.op, ": pads ", a.pads, " besides auto_pad ",
          a.auto_pad);
}

Shape window_output(const WindowAttributes& a, const Shape& input) {
  check_window(a, input.size());
  Shape output;
  for (std::size_t axis = 0; axis < input.size(); ++axis)
    output.push_back(output_size(a, input[axis], axis));
  return output;
}

void check_pool_pads(const WindowAttributes& a) {
  for (std::size_t i = 0; i < a.pads.size(); ++i) {
    const std::int64_t taps = extent(a, i % a.kernel.size());
    require(a.pads[i] < taps, a.op, ": pads ", a.pads, " would make windows of padding alone");
  }
}

Window resolve_window(const WindowAttributes& a, const Dims& input) {
  Window window{a.kernel, {}, {}, {}, {}};
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    const std::int64_t stride = entry_or(a.strides, axis, 1);
    window.strides.push_back(stride);
    window.dilations.push_back(entry_or(a.dilations, axis, 1));
    std::int64_t begin = entry_or(a.pads, axis, 0),
                 end = a.pads.empty() ? 0 : a.pads[axis + input.size()];
    if (is_same(a)) {
      const std::int64_t last = (ceil_divide(input[axis], stride) - 1) * stride;
      const std::int64_t total = std::max<std::int64_t>(0, last + extent(a, axis) - input[axis]);
      begin = a.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    window.pads_begin.push_back(begin);
    window.pads_end.push_back(end);
  }
  return window;
}

void each_tap(const Window& window, const Dims& input, const Dims& place,
              const std::function<void(std::int64_t, std::int64_t)>& visit) {
  const std::int64_t taps = element_count(window.kernel);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    std::int64_t rest = tap, step = 1, element = 0;
    for (std::size_t axis = input.size(); axis-- > 0; rest /= window.kernel[axis]) {
      const std::int64_t at = place[axis] * window.strides[axis] +
                              rest % window.kernel[axis] * window.dilations[axis] -
                              window.pads_begin[axis];
      const bool inside = at >= 0 && at < input[axis];
      element = inside && element >= 0 ? element + at * step : -1;
      step *= input[axis];
    }
    visit(element, tap);
  }
}

}  // namespace narrowgauge
