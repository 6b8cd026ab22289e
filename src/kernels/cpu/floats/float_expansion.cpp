// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_expansion.h"

#include "kernels/cpu/floats/float_depthwise.h"
#include "kernels/cpu/floats/float_image.h"
#include "kernels/cpu/floats/float_image_convolution.h"
#include "kernels/cpu/floats/float_image_rows.h"
#include "kernels/cpu/floats/float_rows.h"

namespace narrowgauge::cpu {

FloatResults FloatExpansion::results_of(const ExpandedLine& line) const {
  const auto* const bias = static_cast<const float*>(line.call.inputs[bottleneck_weights + 1]);
  return {.bias = biased_ ? bias + line.panel * depthwise_channels : nullptr,
          .residual = nullptr,
          .y = line.to,
          .pitch = depthwise_channels,
          .channels = weights_.columns(line.panel),
          .bounds = bounds_,
          .streams = false};
}

namespace {

class PointwiseExpansion : public FloatExpansion {
 public:
  explicit PointwiseExpansion(const FloatStage& stage)
      : FloatExpansion(stage, stage.views.w), strides_(stage.views.x.strides) {}

  std::int64_t scratch_bytes() const override { return float_block_rows * 8; }
  std::int64_t ahead_each() const override { return 8 * weights().depth(); }

  void make(const ExpandedLine& line) const override {
    const float* const x = static_cast<const float*>(line.call.inputs[bottleneck_x]) +
                           line.image * strides_[0] + line.line * strides_[2];
    auto* const pixels = reinterpret_cast<const float**>(line.scratch);
    const float* const weights = this->weights().panel(line.weights, line.panel);
    FloatBlock all{.rows = pixels,
                   .row_count = 0,
                   .taps = 1,
                   .depth = this->weights().depth(),
                   .weights = weights,
                   .ahead = nullptr,
                   .results = results_of(line)};
    std::int64_t ahead = line.ahead_from;
    for (const Part& block : line.blocks) {
      all.row_count = block.end - block.begin;
      for (std::int64_t p = 0; p < all.row_count; ++p)
        pixels[p] = x + (block.begin + p) * strides_[3];
      all.ahead = line.ahead.find(ahead, weights);
      avx512::multiply_float_block(all);
      all.results.y += all.row_count * depthwise_channels;
      ahead += ahead_each();
    }
  }

 private:
  Dims strides_;
};

class ImageExpansion : public FloatExpansion {
 public:
  explicit ImageExpansion(const FloatStage& stage)
      : FloatExpansion(stage, image_taps(stage.views.w)), rows_(stage.views, stage.window) {}

  std::int64_t scratch_bytes() const override { return 4 * rows_.floats(); }

  void make(const ExpandedLine& line) const override {
    if (line.blocks.empty()) return;
    const ImageWindow& window = rows_.window();
    auto* const rows = reinterpret_cast<float*>(line.scratch);
    const std::int64_t first = line.blocks.front().begin, end = line.blocks.back().end;
    const std::int64_t column = first * window.stride_x;
    rows_.copy(static_cast<const float*>(line.call.inputs[bottleneck_x]),
               line.image * window.y_lines + line.line,
               {column, (end - 1) * window.stride_x + window.width}, rows);
    avx512::multiply_image_line({.rows = rows,
                                 .row_pitch = rows_.pitch(),
                                 .row_count = window.rows(),
                                 .width = window.width,
                                 .stride = window.stride_x,
                                 .pixels = end - first,
                                 .weights = weights().panel(line.weights, line.panel),
                                 .results = results_of(line)});
  }

 private:
  FloatImageRows rows_;
};

}  // namespace

std::unique_ptr<const FloatExpansion> make_float_expansion(const FloatStage& stage) {
  if (is_float_image(stage.views, stage.window)) return std::make_unique<ImageExpansion>(stage);
  return std::make_unique<PointwiseExpansion>(stage);
}

}  // namespace narrowgauge::cpu
