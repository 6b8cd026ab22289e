// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "ir/reason.h"
#include "kernels/cpu/floats/float_bottleneck.h"
#include "kernels/cpu/floats/float_bottleneck_cut.h"
#include "kernels/cpu/floats/float_convolution.h"
#include "kernels/cpu/floats/float_depthwise_convolution.h"
#include "kernels/cpu/floats/float_image_convolution.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t most_weight_bytes = 512 << 10;  // that each thread reads: a part of L2

std::string pointwise_reason(const FloatStage& stage) {
  const ConvolutionWindow& window = stage.window;
  const auto all_are = [](const Dims& dims, std::int64_t value) {
    return std::all_of(dims.begin(), dims.end(), [&](std::int64_t each) { return each == value; });
  };
  const Dims& w = stage.views.w.dims;
  return unless(window.groups == 1 && w.size() == 4 && w[2] == 1 && w[3] == 1 &&
                    all_are(window.strides, 1) && all_are(window.pads_begin, 0) &&
                    all_are(window.pads_end, 0),
                "more than a window of one pixel");
}

std::int64_t weight_bytes(const FloatStage& stage) { return 4 * element_count(stage.views.w.dims); }

}  // namespace

std::string float_bottleneck_reason(const FloatBottleneck& bottleneck, Isa isa) {
  const auto& [expansion, windows, projection] = bottleneck.stages;
  std::string reason = first_reason(
      [&] {
        if (is_float_image(expansion.views, expansion.window)) return std::string();
        return pointwise_reason(expansion);
      },
      [&] { return pointwise_reason(projection); },
      [&] {
        return unless(is_float_depthwise(windows.views, windows.window),
                      "no window for each channel");
      },
      [&] {
        return unless(weight_bytes(expansion) + weight_bytes(projection) <= most_weight_bytes,
                      "weights that would not stay in L2");
      });
  for (const FloatStage& stage : bottleneck.stages)
    if (reason.empty())
      reason = float_convolution_reason(stage.views, stage.window,
                                        stage.lasting ? std::vector{1} : std::vector<int>{}, isa);
  if (!reason.empty()) return reason;
  constexpr double most_repetition = 1.25;
  return unless(BottleneckBands(bottleneck).repetition() <= most_repetition,
                "few lines for each thread, so that many are expanded twice");
}

}  // namespace narrowgauge::cpu
