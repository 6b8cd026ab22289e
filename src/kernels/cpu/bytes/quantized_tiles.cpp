// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_tiles.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/machine/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/tiles/pixel_tasks.h"

namespace narrowgauge::cpu {
namespace {

// Memory holds the lists of channels, unless they are packed behind the weights, and what the tasks
// need.
class QuantizedTileConvolution {
 public:
  QuantizedTileConvolution(const QuantizedViews& views, const ConvolutionWindow& window,
                           const QuantizedNumbers& numbers, int threads)
      : views_(views),
        numbers_(numbers),
        tasks_(views.x, views.w, views.y, window, threads, false),
        lists_(numbers, 1, weights().channels(), weights().padded()),
        sums_at_(weights().bytes()),
        lists_at_(round_up(sums_at_ + 4 * weights().padded(), 64)),
        list_bytes_(round_up(lists_.bytes(), 64)) {}

  Prepared prepared(const std::shared_ptr<const QuantizedTileConvolution>& self) const {
    const bool last = views_.numbers_last;
    Prepared prepared{"int8 tiles",
                      (last ? 0 : list_bytes_) + tasks_.workspace(),
                      [self](const Call& call) { self->run(call); },
                      {.isa = Isa::amx}};
    prepared.packed = {
        (last ? lists_.format(views_.y.dtype) : "column sums ") + weights().format(),
        lists_at_ + (last ? list_bytes_ : 0),
        {quantized_w},
        [self](const void* const* inputs, std::byte* packed) { self->pack(inputs, packed); }};
    if (last) std::ranges::copy(lists_.inputs(), std::back_inserter(prepared.packed.inputs));
    return prepared;
  }

 private:
  const PixelWeights& weights() const { return tasks_.weights(); }

  void pack(const void* const* inputs, std::byte* packed) const {
    const void* const w = inputs[quantized_w];
    weights().pack(w, packed);
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at_);
    std::fill_n(packed + sums_at_, lists_at_ - sums_at_, std::byte{0});
    for (std::int64_t channel = 0; channel < weights().channels(); ++channel)
      sums[channel] = weights().sum(w, channel);
    if (!views_.numbers_last) return;
    std::fill_n(packed + lists_at_, list_bytes_, std::byte{0});
    const Call call{inputs, nullptr, nullptr, nullptr, packed};
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    lists_.fill(call, steps, packed + lists_at_, stored(call, steps));
  }

  QuantizedLists::Stored stored(const Call& call, const QuantizedSteps& steps) const {
    return {0, steps.x_zero, reinterpret_cast<const std::int32_t*>(call.packed + sums_at_)};
  }

  void run(const Call& call) const {
    auto* memory = static_cast<std::byte*>(call.workspace);
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    const std::byte* lists = call.packed + lists_at_;
    if (!views_.numbers_last) {
      lists_.fill(call, steps, memory, stored(call, steps));
      lists = memory;
      memory += list_bytes_;
    }
    QuantizedFinish finish = lists_.read(lists, steps, stored(call, steps));
    finish.y = views_.y.dtype;
    if (views_.residual) finish.residual = views_.residual->dtype;
    const bool saturates = saturation_bounds(finish, views_.residual.has_value());
    tasks_.run(
        {call.inputs[quantized_x], static_cast<std::uint8_t>(steps.x_zero), call.packed, memory},
        [&](const PixelProduct& product, const PixelParts::Pixels&) {
          amx::quantized_multiply({product, views_.x.dtype == DType::i8, saturates,
                                   steps.x_zero == 0, finish,
                                   static_cast<const std::byte*>(call.inputs[quantized_residual]),
                                   static_cast<std::byte*>(call.outputs[0]), weights().channels()});
        });
  }

  QuantizedViews views_;
  QuantizedNumbers numbers_;
  PixelTasks tasks_;
  QuantizedLists lists_;
  std::int64_t sums_at_, lists_at_;  // in what is packed
  std::int64_t list_bytes_;
};

}  // namespace

std::string quantized_tiles_reason(const QuantizedViews& views, const ConvolutionWindow& window,
                                   const QuantizedNumbers& numbers, Isa isa) {
  return first_reason(
      [&] { return tile_isa_reason(isa); }, [&] { return quantized_convolution_reason(views); },
      [&] { return unless(views.w.dtype == DType::i8, "weights of u8"); },
      [&] { return unless(numbers.w_zero.count == 0, "weights with a zero point"); },
      [&] { return unless(views.w_lasts, "weights that may change"); },
      [&] { return unless(window.groups == 1, "groups of channels"); },
      [&] { return unless(views.x.dims.size() <= 4, "three spatial axes"); },
      [&] {
        return unless(is_channels_last(views.x) && is_channels_last(views.y) &&
                          (!views.residual || is_channels_last(*views.residual)),
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
