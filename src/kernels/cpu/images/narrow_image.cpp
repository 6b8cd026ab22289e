// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/images/narrow_image.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "ir/reason.h"
#include "kernels/cpu/contraction/packed_bounded.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/images/image_sums.h"
#include "kernels/cpu/images/image_window.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t narrow_image_tasks = 8;  // for each thread

// Memory holds weights and biases unless they are packed ahead, and rows of x for each worker.
class NarrowImage {
 public:
  explicit NarrowImage(const BoundedConvolution& convolution)
      : c_(convolution),
        window_(c_.views.x, c_.views.w, c_.views.y, c_.window),
        threads_(c_.threads > 0 ? c_.threads : thread_count()) {}

  std::int64_t workspace() const { return slots_at() + threads_ * slot_bytes(); }
  std::int64_t packed_bytes() const {
    return 4 * image_panel * panels() * (window_.rows() * window_.width + 1);
  }
  std::string format() const { return panel_format("narrow image", c_); }

  void pack(const void* const* inputs, std::byte* packed) const {
    std::memset(packed, 0, static_cast<std::size_t>(packed_bytes()));
    auto* const weights = reinterpret_cast<float*>(packed);
    float* const biases = weights + weight_floats();
    const View& w = c_.views.w;
    const std::int64_t taps = window_.rows() * window_.width;
    for (std::int64_t output = 0; output < window_.outputs; ++output) {
      if (const auto& bias = c_.views.bias)
        biases[output] = widened_element(*bias, inputs[bounded_bias], output * bias->strides[0]);
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t row = tap / window_.width;
        const std::int64_t at = output * w.strides[0] + row / window_.height * w.strides[1] +
                                row % window_.height * w.strides[2] +
                                tap % window_.width * w.strides[3];
        weights[(output / image_panel * taps + tap) * image_panel + output % image_panel] =
            widened_element(w, inputs[bounded_w], at);
      }
    }
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    if (!packs_ahead(c_)) pack(call.inputs, memory);
    const std::byte* const packed = packs_ahead(c_) ? call.packed : memory;
    const std::int64_t wanted = threads_ > 1 ? narrow_image_tasks * threads_ : 1;
    const std::int64_t grain = ceil_divide(window_.lines, wanted);
    hand_out(ceil_divide(window_.lines, grain), threads_,
             [&](std::int64_t task, std::int64_t worker) {
               std::byte* const rows = memory + slots_at() + worker * slot_bytes();
               const std::int64_t end = std::min((task + 1) * grain, window_.lines);
               for (std::int64_t line = task * grain; line < end; ++line)
                 run_line(call, packed, line, reinterpret_cast<float*>(rows));
             });
  }

 private:
  std::int64_t panels() const { return ceil_divide(window_.outputs, image_panel); }
  std::int64_t weight_floats() const {
    return image_panel * panels() * window_.rows() * window_.width;
  }
  std::int64_t slots_at() const { return packs_ahead(c_) ? 0 : round_up(packed_bytes(), 64); }
  std::int64_t row_floats() const { return round_up(window_.row_length(), image_panel); }
  std::int64_t slot_bytes() const { return 4 * window_.rows() * row_floats(); }

  void run_line(const Call& call, const std::byte* packed, std::int64_t line, float* rows) const {
    const DType dtype = c_.views.x.dtype;
    for (std::int64_t i = 0; i < window_.rows(); ++i) {
      float* const row = rows + i * row_floats();
      const std::int64_t from = window_.row_begin(line, i);
      std::fill_n(row, row_floats(), 0.0F);
      if (from >= 0)
        widen_row(dtype, at_offset(call.inputs[bounded_x], dtype, from),
                  row + window_.padding_before(), window_.values());
    }
    const std::int64_t to = line * window_.y_pixels * window_.outputs;
    avx512::image_float_sums(
        {reinterpret_cast<const std::byte*>(rows), 4 * row_floats(), window_.rows(), window_.width,
         4 * window_.stride_x, window_.y_pixels, panels(), packed},
        {static_cast<std::byte*>(call.outputs[0]) + 2 * to, window_.outputs,
         reinterpret_cast<const float*>(packed) + weight_floats(), c_.low, c_.high});
  }

  BoundedConvolution c_;
  ImageWindow window_;
  int threads_;
};

}  // namespace

std::string narrow_image_reason(const BoundedConvolution& convolution, Isa isa) {
  const ConvolutionViews& views = convolution.views;
  return first_reason([&] { return unless(isa >= Isa::avx512, "needs avx512"); },
                      [&] { return image_window_reason(views.x, views.y, convolution.window); },
                      [&] { return image_taps_reason(views.w); },
                      [&] { return narrow_operands_reason(convolution); },
                      [&] { return unless(!convolution.residual, "a residual"); },
                      [&] { return unless(!convolution.gelu, "gelu"); });
}

Prepared prepare_narrow_image(const BoundedConvolution& convolution) {
  return prepare_packed_bounded<NarrowImage>("image, avx512", convolution);
}

}  // namespace narrowgauge::cpu
