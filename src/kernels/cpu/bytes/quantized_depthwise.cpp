// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_depthwise.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/bytes/quantized_window.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t wanted_tasks = 4;  // for each thread
constexpr std::int64_t pair_bytes = 64;   // of weights of two taps and 16 channels

struct Sums {
  __m256i low, high;  // of 8 channels each
};

[[gnu::always_inline]] inline void add_pair(const std::byte* first, const std::byte* second,
                                            const std::byte* weights, bool is_signed, __m256i zero,
                                            Sums& sums) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first)),
                b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
  const auto* const w = reinterpret_cast<const __m256i*>(weights);
  const auto widened = [&](__m128i bytes) __attribute__((always_inline)) {
    const __m256i wide = is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    return _mm256_sub_epi16(wide, zero);
  };
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(widened(low), _mm256_loadu_si256(w)));
  sums.high =
      _mm256_add_epi32(sums.high, _mm256_madd_epi16(widened(high), _mm256_loadu_si256(w + 1)));
}

// Memory holds the lists; the weights unless they are packed ahead; a line of channels that are
// zero points, which stands for pads.
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
  std::int64_t weight_bytes() const { return panels() * pairs() * pair_bytes; }
  std::string format() const {
    std::string text = concat("int8 depthwise ", views_.w.dtype, ' ', numbers_.w_zero.count);
    for (std::size_t axis = 0; axis < views_.w.dims.size(); ++axis)
      text += concat(' ', views_.w.dims[axis], '*', views_.w.strides[axis]);
    return text;
  }

  void pack(const void* const* inputs, std::byte* packed) const {
    std::fill_n(packed, weight_bytes(), std::byte{0});
    const Call call{.inputs = inputs};
    const auto* const w = static_cast<const std::uint8_t*>(inputs[quantized_w]);
    const std::vector<std::int64_t> taps = tap_places();
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
    QuantizedFinish finish = lists_.load(call, steps, memory, {});
    finish.zeros = nullptr;  // weights are less theirs
    finish.y = views_.y.dtype;
    if (views_.residual) finish.residual = views_.residual->dtype;
    std::byte* const pads = memory + pads_at_;
    std::memset(pads, steps.x_zero, static_cast<std::size_t>(padded()));
    const Run run{call, weights, finish, pads, steps.x_zero};
    const std::int64_t lines = window_.rows() / window_.axes()[2].y;
    const std::int64_t grain = threads_ > 1 ? ceil_divide(lines, wanted_tasks * threads_) : lines;
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
    std::int32_t zero;
  };

  std::int64_t panels() const { return ceil_divide(channels_, quantized_panel); }
  std::int64_t padded() const { return panels() * quantized_panel; }
  std::int64_t pairs() const { return ceil_divide(window_.taps(), std::int64_t{2}); }

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

  void run_line(const Run& run, std::int64_t line) const {
    const auto& [z, y, x] = window_.axes();
    std::vector<const std::byte*> taps(static_cast<std::size_t>(2 * pairs()), run.pads);
    const std::int64_t in_y = line % y.y, in_z = line / y.y % z.y, image = line / y.y / z.y;
    const auto* const from = static_cast<const std::byte*>(run.call.inputs[quantized_x]) +
                             image * z.x * y.x * x.x * channels_;
    for (std::int64_t in_x = 0; in_x < x.y; ++in_x) {
      std::size_t tap = 0;
      for (std::int64_t kz = 0; kz < z.kernel; ++kz)
        for (std::int64_t ky = 0; ky < y.kernel; ++ky)
          for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
            const std::int64_t at_z = place(z, in_z, kz), at_y = place(y, in_y, ky),
                               at_x = place(x, in_x, kx);
            const bool inside = at_z >= 0 && at_y >= 0 && at_x >= 0;
            taps[tap++] = inside ? from + ((at_z * y.x + at_y) * x.x + at_x) * channels_ : run.pads;
          }
      run_pixel(run, taps, line * x.y + in_x);
    }
  }

  // Of a tap in x; -1: in the pads.
  static std::int64_t place(const QuantizedWindow::Axis& axis, std::int64_t y, std::int64_t tap) {
    const std::int64_t at = y * axis.stride - axis.pad + tap * axis.dilation;
    return at < axis.x ? at : -1;
  }

  void run_pixel(const Run& run, const std::vector<const std::byte*>& taps,
                 std::int64_t pixel) const {
    for (std::int64_t channel = 0; channel < channels_; channel += quantized_panel) {
      const std::int64_t count = std::min(quantized_panel, channels_ - channel);
      alignas(32) std::int32_t sums[quantized_panel];
      add_taps(run, taps, channel, count, sums);
      const std::int64_t at = pixel * channels_ + channel;
      const auto offset = [&](const void* data, DType dtype) {
        return static_cast<const std::byte*>(data) + at * bits(dtype) / 8;
      };
      finish_quantized(
          run.finish,
          {1, channel, count, sums, nullptr,
           views_.residual ? offset(run.call.inputs[quantized_residual], views_.residual->dtype)
                           : nullptr,
           const_cast<std::byte*>(offset(run.call.outputs[0], views_.y.dtype)), channels_});
    }
  }

  void add_taps(const Run& run, const std::vector<const std::byte*>& taps, std::int64_t channel,
                std::int64_t count, std::int32_t* to) const {
    const bool is_signed = views_.x.dtype == DType::i8;
    const __m256i zero = _mm256_set1_epi16(static_cast<std::int16_t>(run.zero));
    const std::byte* weights = run.weights + channel / quantized_panel * pairs() * pair_bytes;
    Sums sums{_mm256_setzero_si256(), _mm256_setzero_si256()};
    std::byte few[2][quantized_panel] = {};
    for (std::size_t tap = 0; tap < taps.size(); tap += 2, weights += pair_bytes) {
      const std::byte *first = taps[tap] + channel, *second = taps[tap + 1] + channel;
      if (count < quantized_panel) {
        std::copy_n(first, count, few[0]);
        std::copy_n(second, count, few[1]);
        first = few[0];
        second = few[1];
      }
      add_pair(first, second, weights, is_signed, zero, sums);
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
