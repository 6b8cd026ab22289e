// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/depthwise/narrow_depthwise.h"

#include <algorithm>
#include <memory>

#include "ir/reason.h"
#include "kernels/cpu/contraction/packed_bounded.h"
#include "kernels/cpu/core/line_shares.h"
#include "kernels/cpu/depthwise/narrow_depthwise_line.h"

namespace narrowgauge::cpu {
namespace {

class NarrowDepthwise {
 public:
  explicit NarrowDepthwise(const BoundedConvolution& convolution)
      : c_(convolution),
        x_(c_.views.x.dims),
        w_(c_.views.w.dims),
        y_(c_.views.y.dims),
        threads_(c_.threads > 0 ? c_.threads : thread_count()) {}

  std::int64_t packed_bytes() const {
    return 4 * ceil_divide(w_[0], depthwise_panel) * narrow_depthwise_panel_floats(w_[2], w_[3]);
  }
  std::int64_t workspace() const { return packs_ahead(c_) ? 0 : packed_bytes(); }
  std::string format() const { return panel_format("narrow depthwise", c_); }

  void pack(const void* const* inputs, std::byte* packed) const {
    std::fill_n(packed, packed_bytes(), std::byte{0});
    auto* const panels = reinterpret_cast<float*>(packed);
    const View& w = c_.views.w;
    const std::int64_t floats = narrow_depthwise_panel_floats(w_[2], w_[3]);
    for (std::int64_t channel = 0; channel < w_[0]; ++channel) {
      float* to = panels + channel / depthwise_panel * floats + narrow_depthwise_place(channel);
      if (const auto& bias = c_.views.bias)
        *to = widened_element(*bias, inputs[bounded_bias], channel * bias->strides[0]);
      for (std::int64_t ky = 0; ky < w_[2]; ++ky)
        for (std::int64_t kx = 0; kx < w_[3]; ++kx)
          *(to += depthwise_panel) = widened_element(
              w, inputs[bounded_w], channel * w.strides[0] + ky * w.strides[2] + kx * w.strides[3]);
    }
  }

  void run(const Call& call) const {
    if (!packs_ahead(c_)) pack(call.inputs, static_cast<std::byte*>(call.workspace));
    const void* const panels = packs_ahead(c_) ? call.packed : call.workspace;
    hand_out_lines(
        y_[0] * y_[2], ceil_divide(w_[0], depthwise_panel), threads_,
        [&](const LineShare& share) { run_line(call, static_cast<const float*>(panels), share); });
  }

 private:
  void run_line(const Call& call, const float* panels, const LineShare& share) const {
    const std::int64_t stride = c_.window.strides[0], pad = c_.window.pads_begin[0];
    const std::int64_t image = share.line / y_[2], first = share.line % y_[2] * stride - pad;
    const auto* const x = static_cast<const std::byte*>(call.inputs[bounded_x]);
    const std::int64_t row_bytes = x_[3] * x_[1] * 2;
    std::vector<const std::byte*> lines;
    for (std::int64_t ky = 0; ky < w_[2]; ++ky) {
      const std::int64_t at = first + ky;
      const bool inside = at >= 0 && at < x_[2];
      lines.push_back(inside ? x + (image * x_[2] + at) * row_bytes : nullptr);
    }
    const std::byte* const ahead =
        x + (image * x_[2] + std::max<std::int64_t>(first + w_[2], 0)) * row_bytes;
    const std::int64_t to = share.line * y_[3] * y_[1] * 2;
    const auto* const residual =
        c_.residual ? static_cast<const std::byte*>(call.inputs[bounded_residual]) + to : nullptr;
    avx512::narrow_depthwise_line(
        {lines.data(), ahead, stride, row_bytes, w_[2], w_[3], c_.window.strides[1],
         c_.window.pads_begin[1], x_[3], y_[3], x_[1], share.begin * depthwise_panel,
         std::min(share.end * depthwise_panel, x_[1]), panels, residual,
         static_cast<std::byte*>(call.outputs[0]) + to, c_.low, c_.high, isa() >= Isa::bf16});
  }

  BoundedConvolution c_;
  Dims x_, w_, y_;
  int threads_;
};

}  // namespace

std::string narrow_depthwise_reason(const BoundedConvolution& convolution, Isa isa) {
  const auto& [views, window, residual, low, high, gelu, threads, lasting] = convolution;
  const Dims &x = views.x.dims, &w = views.w.dims, &y = views.y.dims;
  return first_reason(
      [&] { return unless(isa >= Isa::avx512, "needs avx512"); },
      [&] { return unless(!gelu, "gelu"); },
      [&] {
        const bool each = x.size() == 4 && window.groups == x[1] && y[1] == x[1];
        return unless(each, "channels without a window of their own");
      },
      [&] { return narrow_operands_reason(convolution); },
      [&] {
        const bool known =
            is_depthwise_window(w[3], window.strides[1]) && window.dilations == Dims{1, 1};
        return unless(known, concat("windows of ", w[3], ", strides of ", window.strides[1]));
      },
      [&] {
        const bool together = is_channels_last(views.x) && is_channels_last(views.y) &&
                              (!residual || is_channels_last(*residual));
        return unless(together, "images are not channels last");
      },
      [&] { return unless(element_count(x) > 0 && element_count(y) > 0, "nothing to compute"); });
}

Prepared prepare_narrow_depthwise(const BoundedConvolution& convolution) {
  return prepare_packed_bounded<NarrowDepthwise>("depthwise, avx512", convolution);
}

}  // namespace narrowgauge::cpu
