// SPDX-License-Identifier: Apache-2.0
// The sliding window of Conv and of pools: ONNX's attributes, checked, and resolved for given sizes
// (auto_pad and defaults).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// ONNX's attributes; an empty list stands for its default. `kernel` is kernel_shape, or the spatial
// shape of w.
struct WindowAttributes {
  std::string_view op;
  std::string_view auto_pad = "NOTSET";  // NOTSET, VALID, SAME_UPPER or SAME_LOWER
  Dims kernel{}, strides{}, dilations{}, pads{};
  bool ceil_mode = false;
};

// One entry for each spatial axis. Under ceil_mode the last window may reach beyond pads_end.
struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end;
};

// The entry of an attribute's list; `missing` if the list is empty.
inline std::int64_t entry_or(const Dims& values, std::size_t axis, std::int64_t missing) {
  return values.empty() ? missing : values[axis];
}

// Throws UsageError naming the op unless the list is empty or has `count` values from `least` up.
void check_spatial_list(std::string_view op, std::string_view list, const Dims& values,
                        std::size_t count, std::int64_t least);

// Throws UsageError naming the op unless every list fits `axes` spatial axes and its values are
// legal.
void check_window(const WindowAttributes& attributes, std::size_t axes);

// The spatial shape of the output. Throws UsageError as check_window does, and for an input smaller
// than the window.
Shape window_output(const WindowAttributes& attributes, const Shape& input);

// Throws UsageError for pads as long as the window; the other attributes must be checked already.
void check_pool_pads(const WindowAttributes& attributes);

// The window over an input of spatial size `input`; the attributes must be checked already.
Window resolve_window(const WindowAttributes& attributes, const Dims& input);

// The dimensions after batch and channel.
template <class Sizes>
Sizes spatial_part(const Sizes& dims) {
  return Sizes(dims.begin() + 2, dims.end());
}

// Visits the attributes that Conv and its gradients share.
void visit_convolution(auto& self, auto&& visit) {
  visit("auto_pad", self.auto_pad);
  visit("dilations", self.dilations);
  visit("group", self.group);
  visit("kernel_shape", self.kernel_shape);
  visit("pads", self.pads);
  visit("strides", self.strides);
}

// Visits the attributes that pools and their gradients share.
void visit_pool(auto& self, auto&& visit) {
  visit("auto_pad", self.auto_pad);
  visit("ceil_mode", self.ceil_mode);
  visit("dilations", self.dilations);
  visit("kernel_shape", self.kernel_shape);
  visit("pads", self.pads);
  visit("strides", self.strides);
}

// A pool's attributes in the form for check_window and resolve_window.
template <class Pool>
WindowAttributes pool_window(const Pool& pool) {
  return {Pool::info.name, pool.auto_pad, pool.kernel_shape,  pool.strides,
          pool.dilations,  pool.pads,     pool.ceil_mode != 0};
}

// The shape [N, C, spatial...] after a pool; throws UsageError for a rank that no pool has.
template <class Pool>
Shape pool_shape(const Pool& pool, const Shape& x) {
  require(x.size() >= 3 && x.size() <= 5, Pool::info.name,
          ": expected x with one to three spatial axes, got ", x);
  Shape y = window_output(pool_window(pool), spatial_part(x));
  check_pool_pads(pool_window(pool));
  y.insert(y.begin(), {x[0], x[1]});
  return y;
}

// Calls visit(element of x, or -1 in or beyond the padding, tap) for each tap of the window at an
// output place, last axis fastest; elements are row-major in the spatial part.
void each_tap(const Window& window, const Dims& input, const Dims& place,
              const std::function<void(std::int64_t, std::int64_t)>& visit);

}  // namespace narrowgauge
