// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_depthwise.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/bytes/quantized_window.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t depthwise_tasks = 4;  // for each thread
constexpr std::int64_t pair_bytes = 64;      // of weights of two taps and 16 channels
constexpr std::int64_t most_pixels = 8;      // that are finished together

struct DepthwiseSums {
  __m256i low, high;  // of 8 channels each
};

[[gnu::always_inline]] inline void add_pair(const std::byte* first, const std::byte* second,
                                            const std::byte* weights, bool is_signed,
                                            DepthwiseSums& sums) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first)),
                b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
  const auto* const w = reinterpret_cast<const __m256i*>(weights);
  const auto widened = [&](__m128i bytes) __attribute__((always_inline)) {
    return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
  };
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(widened(low), _mm256_loadu_si256(w)));
  sums.high =
      _mm256_add_epi32(sums.high, _mm256_madd_epi16(widened(high), _mm256_loadu_si256(w + 1)));
}

// Memory holds the lists; the weights and their sums unless they are packed ahead; a line of
// channels that are zero points, which stands for pads. Pixels are not less their zero point: its
// multiple of the sum of the weights is taken off behind the sums.
class DepthwiseConvolution {
 public:
  DepthwiseConvolution(const QuantizedViews& views, const ConvolutionWindow& window,
                       const QuantizedNumbers& numbers, int threads)
      : views_(views),
        numbers_(numbers),
        window_(views.x.dims, views.w.dims, views.y.dims, window),
        channels_(views.x.dims[1]),
        lists_(numbers, 1, channels_, padded()),
        threads_(threads) {
    weights_at_ = round_up(lists_.bytes(), 64);
    pads_at_ = weights_at_ + (views.w_lasts ? 0 : weight_bytes());
  }

  std::int64_t workspace() const { return pads_at_ + padded(); }
  std::int64_t weight_bytes() const { return sums_at() + 4 * padded(); }
  std::string format() const {
    std::string text =
        concat("int8 depthwise with sums ", views_.w.dtype, ' ', numbers_.w_zero.count);
    for (std::size_t axis = 0; axis < views_.w.dims.size(); ++axis)
      text += concat(' ', views_.w.dims[axis], '*', views_.w.strides[axis]);
    return text;
  }

  void pack(const void* const* inputs, std::byte* packed) const {
    std::fill_n(packed, weight_bytes(), std::byte{0});
    const Call call{.inputs = inputs};
    const auto* const w = static_cast<const std::uint8_t*>(inputs[quantized_w]);
    const std::vector<std::int64_t> taps = tap_places();
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at());
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      const std::int32_t zero = quantized_w_zero_of(numbers_, call, channel);
      std::byte* const panel =
          packed + channel / quantized_panel * pairs() * pair_bytes + channel % quantized_panel * 4;
      for (std::int64_t tap = 0; tap < std::ssize(taps); ++tap) {
        const std::uint8_t byte =
            w[channel * views_.w.strides[0] + taps[static_cast<std::size_t>(tap)]];
        const std::int32_t value =
            views_.w.dtype == DType::i8 ? static_cast<std::int8_t>(byte) : byte;
        const auto stored = static_cast<std::int16_t>(value - zero);
        std::memcpy(panel + tap / 2 * pair_bytes + tap % 2 * 2, &stored, sizeof stored);
        sums[channel] += stored;
      }
    }
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const std::byte* weights = call.packed;
    if (!weights) {
      pack(call.inputs, memory + weights_at_);
      weights = memory + weights_at_;
    }
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    QuantizedFinish finish =
        lists_.load(call, steps, memory,
                    {0, steps.x_zero, reinterpret_cast<const std::int32_t*>(weights + sums_at())});
    finish.zeros = nullptr;  // weights are less theirs
    finish.y = views_.y.dtype;
    if (views_.residual) finish.residual = views_.residual->dtype;
    std::byte* const pads = memory + pads_at_;
    std::memset(pads, steps.x_zero, static_cast<std::size_t>(padded()));
    const Run run{call, weights, finish, pads};
    const std::int64_t lines = window_.rows() / window_.axes()[2].y;
    const std::int64_t grain =
        threads_ > 1 ? ceil_divide(lines, depthwise_tasks * threads_) : lines;
    const std::int64_t tasks = ceil_divide(lines, grain);
    hand_out(tasks, threads_, [&](std::int64_t task, std::int64_t) {
      for (std::int64_t line = task * grain; line < std::min((task + 1) * grain, lines); ++line)
        run_line(run, line);
    });
  }

 private:
  struct Run {
    const Call& call;
    const std::byte* weights;
    const QuantizedFinish& finish;
    const std::byte* pads;
  };

  std::int64_t panels() const { return ceil_divide(channels_, quantized_panel); }
  std::int64_t padded() const { return panels() * quantized_panel; }
  std::int64_t pairs() const { return ceil_divide(window_.taps(), std::int64_t{2}); }
  std::int64_t sums_at() const { return panels() * pairs() * pair_bytes; }

  // Where the taps of a channel lie in w.
  std::vector<std::int64_t> tap_places() const {
    std::vector<std::int64_t> places{0};
    for (std::size_t axis = 2; axis < views_.w.dims.size(); ++axis) {
      std::vector<std::int64_t> further;
      for (const std::int64_t at : places)
        for (std::int64_t i = 0; i < views_.w.dims[axis]; ++i)
          further.push_back(at + i * views_.w.strides[axis]);
      places = std::move(further);
    }
    return places;
  }

  // Where the taps of neighbouring pixels lie: those of one pixel together.
  using Taps = std::vector<const std::byte*>;

  void run_line(const Run& run, std::int64_t line) const {
    const std::int64_t pixels = window_.axes()[2].y;
    const Taps lines = lines_under(run, line);
    Taps taps(static_cast<std::size_t>(most_pixels * 2 * pairs()), run.pads);
    for (std::int64_t begin = 0; begin < pixels; begin += most_pixels) {
      const std::int64_t count = std::min(most_pixels, pixels - begin);
      for (std::int64_t i = 0; i < count; ++i)
        find_taps(run, lines, begin + i, taps.data() + i * 2 * pairs());
      run_pixels(run, taps, line * pixels + begin, count);
    }
  }

  // The lines of x under the window of a line of y; null: outside.
  Taps lines_under(const Run& run, std::int64_t line) const {
    const auto& [z, y, x] = window_.axes();
    const std::int64_t in_y = line % y.y, in_z = line / y.y % z.y, image = line / y.y / z.y;
    const auto* const from = static_cast<const std::byte*>(run.call.inputs[quantized_x]);
    Taps lines;
    for (std::int64_t kz = 0; kz < z.kernel; ++kz)
      for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
        const std::int64_t at_z = z.place(in_z, kz), at_y = y.place(in_y, ky);
        const std::int64_t at = (image * z.x + at_z) * y.x + at_y;
        lines.push_back(at_z >= 0 && at_y >= 0 ? from + at * x.x * channels_ : nullptr);
      }
    return lines;
  }

  void find_taps(const Run& run, const Taps& lines, std::int64_t pixel,
                 const std::byte** taps) const {
    const WindowAxis& x = window_.axes()[2];
    for (const std::byte* const line : lines)
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const std::int64_t at = x.place(pixel, kx);
        *taps++ = line && at >= 0 ? line + at * channels_ : run.pads;
      }
  }

  void run_pixels(const Run& run, const Taps& taps, std::int64_t pixel, std::int64_t count) const {
    const auto element = [&](const void* data, const View& view, std::int64_t channel) {
      return static_cast<const std::byte*>(data) +
             (pixel * channels_ + channel) * bits(view.dtype) / 8;
    };
    const void* const residual = run.call.inputs[quantized_residual];
    for (std::int64_t channel = 0; channel < channels_; channel += quantized_panel) {
      const std::int64_t columns = std::min(quantized_panel, channels_ - channel);
      alignas(32) std::int32_t sums[most_pixels * quantized_panel];
      for (std::int64_t i = 0; i < count; ++i)
        add_taps(run, {taps.data() + i * 2 * pairs(), static_cast<std::size_t>(2 * pairs())},
                 channel, columns, sums + i * quantized_panel);
      finish_quantized(
          run.finish,
          {count, channel, columns, sums, nullptr, quantized_panel,
           views_.residual ? element(residual, *views_.residual, channel) : nullptr,
           const_cast<std::byte*>(element(run.call.outputs[0], views_.y, channel)), channels_});
    }
  }

  void add_taps(const Run& run, std::span<const std::byte* const> taps, std::int64_t channel,
                std::int64_t columns, std::int32_t* to) const {
    const bool is_signed = views_.x.dtype == DType::i8;
    const std::byte* weights = run.weights + channel / quantized_panel * pairs() * pair_bytes;
    DepthwiseSums sums{_mm256_setzero_si256(), _mm256_setzero_si256()};
    std::byte few[2][quantized_panel] = {};
    for (std::size_t tap = 0; tap < taps.size(); tap += 2, weights += pair_bytes) {
      const std::byte *first = taps[tap] + channel, *second = taps[tap + 1] + channel;
      if (columns < quantized_panel) {
        std::copy_n(first, columns, few[0]);
        std::copy_n(second, columns, few[1]);
        first = few[0];
        second = few[1];
      }
      add_pair(first, second, weights, is_signed, sums);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + 1, sums.high);
  }

  QuantizedViews views_;
  QuantizedNumbers numbers_;
  QuantizedWindow window_;
  std::int64_t channels_;
  QuantizedLists lists_;
  int threads_;
  std::int64_t weights_at_ = 0, pads_at_ = 0;
};

}  // namespace

bool is_quantized_depthwise(const QuantizedViews& views, const ConvolutionWindow& window) {
  return window.groups > 1 && window.groups == views.x.dims[1] &&
         views.y.dims[1] == views.x.dims[1];
}

Prepared prepare_quantized_depthwise(const QuantizedViews& views, const ConvolutionWindow& window,
                                     const QuantizedNumbers& numbers, int threads) {
  const auto made = std::make_shared<const DepthwiseConvolution>(views, window, numbers, threads);
  Prepared prepared{"int8 depthwise, avx2",
                    made->workspace(),
                    [made](const Call& call) { made->run(call); },
                    {.isa = Isa::avx2}};
  if (views.w_lasts) {
    std::vector<int> inputs{quantized_w};
    if (numbers.w_zero.count > 0) inputs.push_back(quantized_w_zero);
    prepared.packed = {
        made->format(), made->weight_bytes(), inputs,
        [made](const void* const* from, std::byte* packed) { made->pack(from, packed); }};
  }
  return prepared;
}

}  // namespace narrowgauge::cpu
