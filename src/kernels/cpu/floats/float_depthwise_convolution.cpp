// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_depthwise_convolution.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_depthwise.h"
#include "kernels/cpu/floats/float_depthwise_weights.h"
#include "kernels/cpu/floats/float_streams.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t line_tasks = 8;               // for each thread
constexpr std::int64_t most_band_bytes = 384 << 10;  // of x: a part of L2

// Places of y beside each other, along one axis, that have the same taps inside of the image.
struct Stretch {
  std::int64_t begin, end, first_tap, end_tap;
};

// One axis of the window, and its stretches from the first place to the last.
struct DepthwiseAxis {
  std::int64_t stride, dilation, pad;
  std::vector<Stretch> stretches{};

  DepthwiseAxis(const ConvolutionViews& views, const ConvolutionWindow& window, std::size_t i)
      : stride(window.strides[i]), dilation(window.dilations[i]), pad(window.pads_begin[i]) {
    const std::int64_t extent = views.x.dims[i + 2], kernel = views.w.dims[i + 2];
    for (std::int64_t place = 0; place < views.y.dims[i + 2]; ++place) {
      const std::int64_t from = place * stride - pad;
      const std::int64_t last = extent - from <= 0 ? 0 : ceil_divide(extent - from, dilation);
      const std::int64_t first = std::min(from < 0 ? ceil_divide(-from, dilation) : 0, kernel);
      const std::int64_t end = std::clamp(last, first, kernel);
      if (stretches.empty() || stretches.back().first_tap != first ||
          stretches.back().end_tap != end)
        stretches.push_back({place, place, first, end});
      stretches.back().end = place + 1;
    }
  }
};

class FloatDepthwise {
 public:
  FloatDepthwise(const ConvolutionViews& views, const ConvolutionWindow& window,
                 const FloatTail& tail, const ContractionOptions& options)
      : views_(views),
        weights_(views.w),
        lines_(views, window, 0),
        columns_(views, window, 1),
        tail_(tail),
        finish_(options.finish),
        streams_(!options.finish && is_streamed(views.y)) {
    const std::int64_t line_bytes =
        4 * lines_.stride * views.x.dims[3] * std::max<std::int64_t>(views.x.strides[3], 1);
    band_ = std::max<std::int64_t>(most_band_bytes / line_bytes, 1);
    threads_ = options.threads == 0 ? thread_count() : options.threads;
    for (const Stretch& line : lines_.stretches)
      for (const Stretch& column : columns_.stretches) add_taps(line, column);
  }

  const FloatDepthwiseWeights& weights() const { return weights_; }

  void run(const Call& call) const {
    const std::int64_t lines = views_.y.dims[0] * height();
    const std::int64_t tasks = std::min<std::int64_t>(lines, line_tasks * threads_);
    hand_out(tasks, threads_, [&](std::int64_t task, std::int64_t) {
      const Part part = part_of(lines, tasks, task);
      for (std::int64_t line = part.begin; line < part.end; line += band_)
        run_band(call, line, std::min(line + band_, part.end));
      if (streams_) avx512::end_float_streams();
      const std::int64_t pitch = width() * channels();
      if (finish_) finish_(call, part.begin * pitch, part.end * pitch);
    });
  }

 private:
  std::int64_t channels() const { return views_.y.dims[1]; }
  std::int64_t height() const { return views_.y.dims[2]; }
  std::int64_t width() const { return views_.y.dims[3]; }

  void add_taps(const Stretch& line, const Stretch& column) {
    const Dims& strides = views_.x.strides;
    std::vector<FloatTap> taps;
    for (std::int64_t ky = line.first_tap; ky < line.end_tap; ++ky)
      for (std::int64_t kx = column.first_tap; kx < column.end_tap; ++kx)
        taps.push_back({ky * lines_.dilation * strides[2] + kx * columns_.dilation * strides[3],
                        (ky * views_.w.dims[3] + kx) * depthwise_channels});
    taps_.push_back(std::move(taps));
  }

  // Lines of x stay in L2 until all channels are done.
  void run_band(const Call& call, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = 0; block < weights_.blocks(); ++block)
      for (std::int64_t line = begin; line < end; ++line) run_line(call, block, line);
  }

  void run_line(const Call& call, std::int64_t block, std::int64_t index) const {
    const std::int64_t line = index % height();
    std::size_t kind = 0;
    while (line >= lines_.stretches[kind].end) ++kind;
    const std::size_t first = kind * columns_.stretches.size();
    for (std::size_t i = 0; i < columns_.stretches.size(); ++i) {
      const Stretch& stretch = columns_.stretches[i];
      for (std::int64_t pixel = stretch.begin; pixel < stretch.end; pixel += depthwise_pixels)
        run_block(call, block, {index, pixel, std::min(depthwise_pixels, stretch.end - pixel)},
                  taps_[first + i]);
    }
  }

  struct Pixels {
    std::int64_t line;  // of all images
    std::int64_t first, count;
  };

  void run_block(const Call& call, std::int64_t block, const Pixels& pixels,
                 const std::vector<FloatTap>& inside) const {
    const auto input = [&](int index) { return static_cast<const float*>(call.inputs[index]); };
    const Dims& strides = views_.x.strides;
    const std::int64_t channel = block * depthwise_channels;
    const std::int64_t line = pixels.line % height() * lines_.stride - lines_.pad;
    const std::int64_t column = pixels.first * columns_.stride - columns_.pad;
    const std::int64_t x =
        pixels.line / height() * strides[0] + line * strides[2] + column * strides[3] + channel;
    const std::int64_t y = (pixels.line * width() + pixels.first) * channels() + channel;
    avx512::multiply_depthwise_block({
        .pixel_count = pixels.count,
        .taps = inside.data(),
        .tap_count = std::ssize(inside),
        .x = input(0) + x,
        .pixel_pitch = columns_.stride * strides[3],
        .ahead = ((views_.w.dims[2] - 1) * lines_.dilation + 1) * strides[2],
        .column_pitch = strides[3],
        .line_pitch = strides[2],
        .columns_ahead = pixels.count * columns_.stride,
        .lines_ahead = lines_.stride,
        .weights = weights_.block(reinterpret_cast<const float*>(call.packed), block),
        .results = {.bias = views_.bias ? input(2) + channel : nullptr,
                    .residual = tail_.residual < 0 ? nullptr : input(tail_.residual) + y,
                    .y = static_cast<float*>(call.outputs[0]) + y,
                    .pitch = channels(),
                    .channels = weights_.channels(block),
                    .bounds = tail_.bounds,
                    .streams = streams_ && is_at_line(call.outputs[0])},
    });
  }

  ConvolutionViews views_;
  FloatDepthwiseWeights weights_;
  DepthwiseAxis lines_, columns_;
  FloatTail tail_;
  Finish finish_;
  bool streams_;
  int threads_ = 1;
  std::int64_t band_ = 1;                    // lines of y
  std::vector<std::vector<FloatTap>> taps_;  // by stretch of lines, then of columns
};

}  // namespace

bool is_float_depthwise(const ConvolutionViews& views, const ConvolutionWindow& window) {
  return views.x.dims.size() == 4 && window.groups == views.x.dims[1] &&
         window.groups == views.y.dims[1];
}

Prepared prepare_float_depthwise(const ConvolutionViews& views, const ConvolutionWindow& window,
                                 const FloatTail& tail, const ContractionOptions& options) {
  const auto made = std::make_shared<const FloatDepthwise>(views, window, tail, options);
  Packed packed{made->weights().format(),
                made->weights().bytes(),
                {1},
                [made](const void* const* inputs, std::byte* bytes) {
                  made->weights().pack(static_cast<const float*>(inputs[1]),
                                       reinterpret_cast<float*>(bytes));
                }};
  return {"channels of f32",
          0,
          [made](const Call& call) { made->run(call); },
          {.isa = Isa::avx512},
          std::move(packed)};
}

}  // namespace narrowgauge::cpu
