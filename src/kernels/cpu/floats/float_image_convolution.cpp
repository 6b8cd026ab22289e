// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_image_convolution.h"

#include <algorithm>
#include <memory>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_image.h"
#include "kernels/cpu/floats/float_image_rows.h"
#include "kernels/cpu/floats/float_streams.h"
#include "kernels/cpu/floats/float_weights.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t image_line_tasks = 8;  // for each thread

// Memory holds rows of x for each worker.
class FloatImage {
 public:
  FloatImage(const ConvolutionViews& views, const ConvolutionWindow& window, const FloatTail& tail,
             const ContractionOptions& options)
      : rows_(views, window),
        window_(rows_.window()),
        weights_(image_taps(views.w), image_panel_vectors),
        biased_(views.bias),
        tail_(tail),
        finish_(options.finish),
        streams_(!options.finish && is_streamed(views.y)),
        threads_(options.threads == 0 ? thread_count() : options.threads) {}

  std::int64_t workspace() const { return 4 * threads_ * rows_.floats(); }
  const FloatWeights& weights() const { return weights_; }

  void run(const Call& call) const {
    const std::int64_t tasks = std::min<std::int64_t>(window_.lines, image_line_tasks * threads_);
    hand_out(tasks, threads_, [&](std::int64_t task, std::int64_t worker) {
      float* const rows = static_cast<float*>(call.workspace) + worker * rows_.floats();
      const Part part = part_of(window_.lines, tasks, task);
      for (std::int64_t line = part.begin; line < part.end; ++line) {
        rows_.copy(static_cast<const float*>(call.inputs[0]), line, rows);
        run_line(call, line, rows);
      }
      if (streams_) avx512::end_float_streams();
      const std::int64_t pitch = window_.y_pixels * window_.outputs;
      if (finish_) finish_(call, part.begin * pitch, part.end * pitch);
    });
  }

 private:
  void run_line(const Call& call, std::int64_t line, const float* rows) const {
    const auto* const packed = reinterpret_cast<const float*>(call.packed);
    const auto input = [&](int index) { return static_cast<const float*>(call.inputs[index]); };
    for (std::int64_t panel = 0; panel < weights_.panels(); ++panel) {
      const std::int64_t channel = weights_.column(panel);
      const std::int64_t y = line * window_.y_pixels * window_.outputs + channel;
      avx512::multiply_image_line({
          .rows = rows,
          .row_pitch = rows_.pitch(),
          .row_count = window_.rows(),
          .width = window_.width,
          .stride = window_.stride_x,
          .pixels = window_.y_pixels,
          .weights = weights_.panel(packed, panel),
          .results = {.bias = biased_ ? input(2) + channel : nullptr,
                      .residual = tail_.residual < 0 ? nullptr : input(tail_.residual) + y,
                      .y = static_cast<float*>(call.outputs[0]) + y,
                      .pitch = window_.outputs,
                      .channels = weights_.columns(panel),
                      .bounds = tail_.bounds,
                      .streams = streams_ && is_at_line(call.outputs[0])},
      });
    }
  }

  FloatImageRows rows_;
  ImageWindow window_;
  FloatWeights weights_;
  bool biased_;
  FloatTail tail_;
  Finish finish_;
  bool streams_;
  int threads_;
};

}  // namespace

bool is_float_image(const ConvolutionViews& views, const ConvolutionWindow& window) {
  const std::int64_t stride = window.strides.back();
  return (stride == 1 || stride == 2 || stride == 4) &&
         image_window_reason(views.x, views.y, window).empty();
}

Prepared prepare_float_image(const ConvolutionViews& views, const ConvolutionWindow& window,
                             const FloatTail& tail, const ContractionOptions& options) {
  const auto made = std::make_shared<const FloatImage>(views, window, tail, options);
  Packed packed{"image, " + made->weights().format(),
                made->weights().bytes(),
                {1},
                [made](const void* const* inputs, std::byte* bytes) {
                  made->weights().pack(static_cast<const float*>(inputs[1]),
                                       reinterpret_cast<float*>(bytes));
                }};
  return {"image of f32",
          made->workspace(),
          [made](const Call& call) { made->run(call); },
          {.isa = Isa::avx512},
          std::move(packed)};
}

}  // namespace narrowgauge::cpu
