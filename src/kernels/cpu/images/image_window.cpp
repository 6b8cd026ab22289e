// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/images/image_window.h"

#include "ir/reason.h"

namespace narrowgauge::cpu {

std::string image_taps_reason(const View& w) {
  return unless(element_count(w.dims) <= most_image_taps * w.dims[0], "a large window");
}

std::string image_window_reason(const View& x, const View& y, const ConvolutionWindow& window) {
  return first_reason(
      [&] { return unless(x.dims.size() == 4 && window.groups == 1, "no images, or groups"); },
      [&] { return unless(x.dims[1] <= most_image_channels, concat(x.dims[1], " channels")); },
      [&] {
        return unless(window.dilations == Dims{1, 1}, "dilated");
      },
      [&] { return unless(is_dense(x), "x is not plain"); },
      [&] { return unless(is_channels_last(y), "y is not channels last"); },
      [&] {
        return unless(element_count(x.dims) > 0 && element_count(y.dims) > 0, "nothing to compute");
      });
}

}  // namespace narrowgauge::cpu
