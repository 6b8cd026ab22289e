// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/woven_depthwise.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_depthwise.h"
#include "kernels/cpu/bytes/woven_depthwise_line.h"
#include "kernels/cpu/core/line_shares.h"

namespace narrowgauge::cpu {
namespace {

// Memory holds, unless they are packed ahead: the weights and their sums; offsets, factors, biases
// and a line of channels that are zero points, which stands for pads.
class WovenDepthwise {
 public:
  WovenDepthwise(const QuantizedViews& views, const ConvolutionWindow& window,
                 const QuantizedNumbers& numbers, int threads)
      : views_(views),
        window_(window),
        numbers_(numbers),
        channels_(views.x.dims[1]),
        size_(views.w.dims[2]),
        threads_(threads) {}

  std::int64_t workspace() const { return weight_bytes() + list_bytes() - packed_bytes(); }
  std::int64_t packed_bytes() const {
    if (!views_.w_lasts) return 0;
    return weight_bytes() + (views_.numbers_last ? list_bytes() : 0);
  }
  std::vector<int> packed_inputs() const {
    std::vector<int> inputs{quantized_w};
    for (const Int8Numbers& each : {numbers_.x_scale, numbers_.x_zero, numbers_.w_scale,
                                    numbers_.bias, numbers_.y_scale, numbers_.y_zero})
      if (views_.numbers_last && each.count > 0) inputs.push_back(each.input);
    return inputs;
  }
  std::string format() const {
    std::string text = "int8 woven depthwise";
    for (std::size_t axis = 0; axis < views_.w.dims.size(); ++axis)
      text += concat(' ', views_.w.dims[axis], '*', views_.w.strides[axis]);
    if (views_.numbers_last) text += concat(" with numbers of ", views_.x.dtype);
    return text;
  }

  void pack(const void* const* inputs, std::byte* packed) const {
    pack_weights(inputs, packed);
    if (views_.numbers_last) fill_lists(inputs, packed, packed + weight_bytes());
  }

  void run(const Call& call) const {
    auto* memory = static_cast<std::byte*>(call.workspace);
    const std::byte* weights = call.packed;
    if (!weights) {
      pack_weights(call.inputs, memory);
      weights = memory;
      memory += weight_bytes();
    }
    const std::byte* lists = weights + weight_bytes();
    if (!call.packed || !views_.numbers_last) {
      fill_lists(call.inputs, weights, memory);
      lists = memory;
    }
    const WovenDepthwiseLine shared = shared_by_lines(call, weights, lists);
    hand_out_lines(
        views_.y.dims[0] * views_.y.dims[2], panels(), threads_,
        [&](const LineShare& share) { run_line(call, shared, lists + pads_at(), share); });
  }

 private:
  std::int64_t panels() const { return ceil_divide(channels_, woven_panel); }
  std::int64_t padded() const { return panels() * woven_panel; }
  std::int64_t sums_at() const { return panels() * woven_weight_bytes(size_); }
  std::int64_t weight_bytes() const { return sums_at() + 4 * padded(); }
  std::int64_t pads_at() const { return 3 * 4 * padded(); }
  std::int64_t list_bytes() const { return pads_at() + padded(); }
  static std::int64_t list_place(std::int64_t channel) {
    return channel / woven_panel * woven_panel + woven_place(channel);
  }

  void pack_weights(const void* const* inputs, std::byte* packed) const {
    std::fill_n(packed, weight_bytes(), std::byte{0});
    const auto* const w = static_cast<const std::int8_t*>(inputs[quantized_w]);
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at());
    const Dims& strides = views_.w.strides;
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      std::byte* const panel =
          packed + channel / woven_panel * woven_weight_bytes(size_) + woven_place(channel) * 4;
      for (std::int64_t ky = 0; ky < size_; ++ky)
        for (std::int64_t kx = 0; kx < size_; ++kx) {
          const std::int8_t weight = w[channel * strides[0] + ky * strides[2] + kx * strides[3]];
          panel[(ky / 4 * size_ + kx) * 4 * woven_panel + ky % 4] = static_cast<std::byte>(weight);
          sums[list_place(channel)] += weight;
        }
    }
  }

  void fill_lists(const void* const* inputs, const std::byte* weights, std::byte* lists) const {
    const Call call{.inputs = inputs};
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    auto* const offsets = reinterpret_cast<std::int32_t*>(lists);
    auto* const factors = reinterpret_cast<float*>(offsets + padded());
    float* const biases = factors + padded();
    std::fill_n(lists, pads_at(), std::byte{0});
    std::memset(lists + pads_at(), steps.x_zero, static_cast<std::size_t>(padded()));
    const auto* const sums = reinterpret_cast<const std::int32_t*>(weights + sums_at());
    const std::int32_t zero = steps.x_zero + (views_.x.dtype == DType::i8 ? 128 : 0);
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      const std::int64_t at = list_place(channel);
      const QuantizedColumn one = quantized_column(numbers_, steps, call, channel);
      offsets[at] = -zero * sums[at];
      factors[at] = one.factor;
      biases[at] = one.bias;
    }
  }

  WovenDepthwiseLine shared_by_lines(const Call& call, const std::byte* weights,
                                     const std::byte* lists) const {
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    const auto* const floats = reinterpret_cast<const float*>(lists);
    WovenDepthwiseLine line{};
    line.window = size_;
    line.stride = window_.strides[1];
    line.pad = window_.pads_begin[1];
    line.x_pixels = views_.x.dims[3];
    line.y_pixels = views_.y.dims[3];
    line.channels = channels_;
    line.lists = {weights, reinterpret_cast<const std::int32_t*>(lists), floats + padded(),
                  floats + 2 * padded()};
    line.low = steps.low;
    line.high = steps.high;
    line.x_zero = steps.x_zero;
    line.y_zero = steps.y_zero;
    line.x_signed = views_.x.dtype == DType::i8;
    line.y_signed = views_.y.dtype == DType::i8;
    return line;
  }

  void run_line(const Call& call, const WovenDepthwiseLine& shared, const std::byte* pads,
                const LineShare& share) const {
    const Dims &x = views_.x.dims, &y = views_.y.dims;
    const std::int64_t image = share.line / y[2];
    const std::int64_t first = share.line % y[2] * window_.strides[0] - window_.pads_begin[0];
    WovenDepthwiseLine line = shared;
    for (std::int64_t ky = 0; ky < size_; ++ky) {
      const std::int64_t at = first + ky;
      const bool inside = at >= 0 && at < x[2];
      line.lines[ky] = inside ? static_cast<const std::byte*>(call.inputs[quantized_x]) +
                                    (image * x[2] + at) * x[3] * channels_
                              : pads;
      line.pitches[ky] = inside ? channels_ : 0;
    }
    line.ahead_lines = window_.strides[0];
    line.ahead_bytes = x[3] * channels_;
    line.ahead = static_cast<const std::byte*>(call.inputs[quantized_x]) +
                 (image * x[2] + std::max<std::int64_t>(first + size_, 0)) * line.ahead_bytes;
    line.begin = share.begin;
    line.end = share.end;
    line.y = static_cast<std::byte*>(call.outputs[0]) + share.line * y[3] * channels_;
    avx512::woven_depthwise_line(line);
  }

  QuantizedViews views_;
  ConvolutionWindow window_;
  QuantizedNumbers numbers_;
  std::int64_t channels_, size_;
  int threads_;
};

}  // namespace

std::string woven_depthwise_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa) {
  const Dims& w = views.w.dims;
  return first_reason(
      [&] { return unless(isa >= Isa::vnni, "needs vnni"); },
      [&] {
        return unless(is_quantized_depthwise(views, window), "channels without their own window");
      },
      [&] {
        return unless(is_channels_last(views.x) && is_channels_last(views.y),
                      "channels that lie apart");
      },
      [&] {
        const bool square = w.size() == 4 && w[2] == w[3] && window.dilations == Dims{1, 1};
        return unless(square && is_woven_window(w[2], window.strides[1]), "another window");
      },
      [&] {
        return unless(views.w.dtype == DType::i8 && numbers.w_zero.count == 0,
                      "weights with a zero point");
      },
      [&] { return unless(!views.residual && !numbers.gelu, "a residual, or gelu"); },
      [&] { return unless(is_byte(views.y.dtype), "a result that is not of bytes"); });
}

Prepared prepare_woven_depthwise(const QuantizedViews& views, const ConvolutionWindow& window,
                                 const QuantizedNumbers& numbers, int threads) {
  const auto made = std::make_shared<const WovenDepthwise>(views, window, numbers, threads);
  Prepared prepared{"int8 depthwise, vnni",
                    made->workspace(),
                    [made](const Call& call) { made->run(call); },
                    {.isa = Isa::vnni}};
  if (views.w_lasts)
    prepared.packed = {
        made->format(), made->packed_bytes(), made->packed_inputs(),
        [made](const void* const* from, std::byte* packed) { made->pack(from, packed); }};
  return prepared;
}

}  // namespace narrowgauge::cpu
