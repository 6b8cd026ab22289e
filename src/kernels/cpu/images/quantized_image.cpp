// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/images/quantized_image.h"

#include <cstring>
#include <memory>

#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/images/image_sums.h"
#include "kernels/cpu/images/image_window.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t image_tasks = 8;  // for each thread
constexpr std::byte sign_bit{0x80};

// Memory holds the lists; the weights and their sums unless they are packed ahead; rows of x and
// sums for each worker.
class QuantizedImage {
 public:
  QuantizedImage(const QuantizedViews& views, const ConvolutionWindow& window,
                 const QuantizedNumbers& numbers, int threads)
      : views_(views),
        window_(views.x, views.w, views.y, window),
        numbers_(numbers),
        lists_(numbers, 1, window_.outputs, padded()),
        threads_(threads) {}

  std::int64_t workspace() const { return slots_at() + threads_ * slot_bytes(); }
  std::int64_t weight_bytes() const { return sums_at() + 4 * padded(); }
  std::string format() const {
    std::string text = "int8 image";
    for (std::size_t axis = 0; axis < views_.w.dims.size(); ++axis)
      text += concat(' ', views_.w.dims[axis], '*', views_.w.strides[axis]);
    return text;
  }

  void pack(const void* const* inputs, std::byte* packed) const {
    std::memset(packed, 0, static_cast<std::size_t>(weight_bytes()));
    const auto* const w = static_cast<const std::int8_t*>(inputs[quantized_w]);
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at());
    const Dims& strides = views_.w.strides;
    for (std::int64_t output = 0; output < window_.outputs; ++output)
      for (std::int64_t row = 0; row < window_.rows(); ++row)
        for (std::int64_t kx = 0; kx < window_.width; ++kx) {
          const std::int8_t weight = w[output * strides[0] + row / window_.height * strides[1] +
                                       row % window_.height * strides[2] + kx * strides[3]];
          const std::int64_t step =
              (output / image_panel * window_.rows() + row) * steps() + kx / 4;
          packed[(step * image_panel + output % image_panel) * 4 + kx % 4] =
              static_cast<std::byte>(weight);
          sums[output] += weight;
        }
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    if (!views_.w_lasts) pack(call.inputs, memory + weights_at());
    const std::byte* const weights = views_.w_lasts ? call.packed : memory + weights_at();
    const QuantizedSteps values = quantized_steps(numbers_, call, views_.y.dtype);
    const std::int32_t zero = values.x_zero + (x_signed() ? 0x80 : 0);
    QuantizedFinish finish =
        lists_.load(call, values, memory,
                    {0, zero, reinterpret_cast<const std::int32_t*>(weights + sums_at())});
    finish.zeros = nullptr;
    finish.y = views_.y.dtype;
    const std::int64_t wanted = threads_ > 1 ? image_tasks * threads_ : 1;
    const std::int64_t grain = ceil_divide(window_.lines, wanted);
    hand_out(ceil_divide(window_.lines, grain), threads_,
             [&](std::int64_t task, std::int64_t worker) {
               std::byte* const slot = memory + slots_at() + worker * slot_bytes();
               const std::int64_t end = std::min((task + 1) * grain, window_.lines);
               for (std::int64_t line = task * grain; line < end; ++line)
                 run_line({call, weights, finish, zero}, line, slot);
             });
  }

 private:
  struct Run {
    const Call& call;
    const std::byte* weights;
    const QuantizedFinish& finish;
    std::int32_t zero;  // of x, as it is copied
  };

  bool x_signed() const { return views_.x.dtype == DType::i8; }
  std::int64_t panels() const { return ceil_divide(window_.outputs, image_panel); }
  std::int64_t padded() const { return panels() * image_panel; }
  std::int64_t steps() const { return ceil_divide(window_.width, std::int64_t{4}); }
  std::int64_t sums_at() const { return panels() * window_.rows() * steps() * 4 * image_panel; }
  std::int64_t weights_at() const { return round_up(lists_.bytes(), 64); }
  std::int64_t slots_at() const {
    return weights_at() + (views_.w_lasts ? 0 : round_up(weight_bytes(), 64));
  }
  // The last four of a row may reach beyond it.
  std::int64_t row_bytes() const { return round_up(window_.row_length() + 4, 64); }
  std::int64_t slot_bytes() const {
    return window_.rows() * row_bytes() + 4 * window_.y_pixels * padded();
  }

  // Copies the rows under a line of y as unsigned bytes.
  void copy_rows(const Run& run, std::int64_t line, std::byte* rows) const {
    const auto* const x = static_cast<const std::byte*>(run.call.inputs[quantized_x]);
    const std::int64_t bytes = row_bytes(), before = window_.padding_before();
    const auto values = static_cast<std::size_t>(window_.values());
    for (std::int64_t i = 0; i < window_.rows(); ++i, rows += bytes) {
      const std::int64_t from = window_.row_begin(line, i);
      std::memset(rows, run.zero, static_cast<std::size_t>(bytes));
      if (from < 0) continue;
      std::memcpy(rows + before, x + from, values);
      if (x_signed())
        for (std::size_t k = 0; k < values; ++k) rows[before + std::int64_t(k)] ^= sign_bit;
    }
  }

  void run_line(const Run& run, std::int64_t line, std::byte* slot) const {
    copy_rows(run, line, slot);
    auto* const sums = reinterpret_cast<std::int32_t*>(slot + window_.rows() * row_bytes());
    avx512::image_byte_sums({slot, row_bytes(), window_.rows(), steps(), window_.stride_x,
                             window_.y_pixels, panels(), run.weights},
                            sums);
    const std::int64_t to = line * window_.y_pixels * window_.outputs;
    auto* const y = static_cast<std::byte*>(run.call.outputs[0]);
    finish_quantized(run.finish, {window_.y_pixels, 0, window_.outputs, sums, nullptr, padded(),
                                  nullptr, y + bytes_for(to, views_.y.dtype), window_.outputs});
  }

  QuantizedViews views_;
  ImageWindow window_;
  QuantizedNumbers numbers_;
  QuantizedLists lists_;
  int threads_;
};

}  // namespace

std::string quantized_image_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa) {
  return first_reason([&] { return unless(isa >= Isa::vnni, "needs vnni"); },
                      [&] { return image_window_reason(views.x, views.y, window); },
                      [&] { return image_taps_reason(views.w); },
                      [&] {
                        return unless(views.w.dtype == DType::i8 && numbers.w_zero.count == 0,
                                      "weights with a zero point");
                      },
                      [&] { return unless(!views.residual, "a residual"); });
}

Prepared prepare_quantized_image(const QuantizedViews& views, const ConvolutionWindow& window,
                                 const QuantizedNumbers& numbers, int threads) {
  const auto made = std::make_shared<const QuantizedImage>(views, window, numbers, threads);
  Prepared prepared{"int8 image, vnni",
                    made->workspace(),
                    [made](const Call& call) { made->run(call); },
                    {.isa = Isa::vnni}};
  if (views.w_lasts)
    prepared.packed = {
        made->format(),
        made->weight_bytes(),
        {quantized_w},
        [made](const void* const* from, std::byte* packed) { made->pack(from, packed); }};
  return prepared;
}

}  // namespace narrowgauge::cpu
