// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_tiles.h"

#include <algorithm>
#include <memory>

#include "base/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/tiles/pixel_tasks.h"

namespace narrowgauge::cpu {
namespace {

// Whether results fit into integers, are never NaN, and reach no bound before a byte is full.
bool saturation_bounds(const QuantizedFinish& finish, bool residual) {
  if (finish.y == DType::f32 || (residual && finish.residual == DType::f32)) return false;
  const int least = finish.y == DType::u8 ? 0 : -128;
  return finish.largest < 0x1p30F && finish.low <= static_cast<float>(least - finish.y_zero) &&
         finish.high >= static_cast<float>(least + 255 - finish.y_zero);
}

// Memory holds the lists of channels, what their sums begin with, and what the tasks need.
class QuantizedTileConvolution {
 public:
  QuantizedTileConvolution(const QuantizedViews& views, const ConvolutionWindow& window,
                           const QuantizedNumbers& numbers, int threads)
      : views_(views),
        numbers_(numbers),
        tasks_(views.x, views.w, views.y, window, threads, false),
        lists_(numbers, 1, weights().channels(), weights().padded()),
        begin_at_(round_up(lists_.bytes(), 64)),
        tasks_at_(begin_at_ + round_up(4 * weights().padded(), 64)) {}

  Prepared prepared(const std::shared_ptr<const QuantizedTileConvolution>& self) const {
    Prepared prepared{"int8 tiles",
                      tasks_at_ + tasks_.workspace(),
                      [self](const Call& call) { self->run(call); },
                      {.isa = Isa::amx}};
    prepared.packed = {concat("column sums ", weights().format()),
                       weights().bytes() + 4 * weights().padded(),
                       {quantized_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->pack(inputs[quantized_w], packed);
                       }};
    return prepared;
  }

 private:
  const PixelWeights& weights() const { return tasks_.weights(); }

  void pack(const void* w, std::byte* packed) const {
    weights().pack(w, packed);
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + weights().bytes());
    std::fill_n(sums, weights().padded(), 0);
    for (std::int64_t channel = 0; channel < weights().channels(); ++channel)
      sums[channel] = weights().sum(w, channel);
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    const auto* const sums = reinterpret_cast<const std::int32_t*>(call.packed + weights().bytes());
    QuantizedFinish finish = lists_.load(call, steps, memory, {0, steps.x_zero, sums});
    finish.y = views_.y.dtype;
    if (views_.residual) finish.residual = views_.residual->dtype;
    auto* const begin = reinterpret_cast<std::int32_t*>(memory + begin_at_);
    for (std::int64_t i = 0; i < weights().padded(); ++i)
      begin[i] = static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(finish.offsets[i]));
    finish.offsets = nullptr;
    const bool saturates = saturation_bounds(finish, views_.residual.has_value());
    tasks_.run(
        {call.inputs[quantized_x], static_cast<std::uint8_t>(steps.x_zero), call.packed, begin,
         memory + tasks_at_},
        [&](const PixelProduct& product, const PixelParts::Pixels&) {
          amx::quantized_multiply({product, views_.x.dtype == DType::i8, saturates, finish,
                                   static_cast<const std::byte*>(call.inputs[quantized_residual]),
                                   static_cast<std::byte*>(call.outputs[0]), weights().channels()});
        });
  }

  QuantizedViews views_;
  QuantizedNumbers numbers_;
  PixelTasks tasks_;
  QuantizedLists lists_;
  std::int64_t begin_at_, tasks_at_;
};

}  // namespace

std::string quantized_tiles_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa) {
  const auto together = [](const View& view) {
    return same_layout(view, channels_last_view(view.dtype, view.dims));
  };
  return first_reason(
      [&] { return tile_isa_reason(isa); }, [&] { return quantized_convolution_reason(views); },
      [&] { return unless(views.w.dtype == DType::i8, "weights of u8"); },
      [&] { return unless(numbers.w_zero.count == 0, "weights with a zero point"); },
      [&] { return unless(views.w_lasts, "weights that may change"); },
      [&] { return unless(window.groups == 1, "groups of channels"); },
      [&] { return unless(views.x.dims.size() <= 4, "three spatial axes"); },
      [&] {
        return unless(together(views.x) && together(views.y) &&
                          (!views.residual || together(*views.residual)),
                      "channels that lie apart");
      });
}

Prepared prepare_quantized_tiles(const QuantizedViews& views, const ConvolutionWindow& window,
                                 const QuantizedNumbers& numbers, int threads) {
  const std::string reason = quantized_tiles_reason(views, window, numbers, isa());
  require(reason.empty(), "quantised convolution on tiles: ", reason);
  const auto made = std::make_shared<const QuantizedTileConvolution>(
      views, window, numbers, threads > 0 ? threads : thread_count());
  return made->prepared(made);
}

}  // namespace narrowgauge::cpu
