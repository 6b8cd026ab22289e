// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_tiles.h"

#include <algorithm>
#include <memory>

#include "base/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

// Memory holds the lists of channels, and for each thread a slot with its tiles and copied lines.
class QuantizedTileConvolution {
 public:
  QuantizedTileConvolution(const QuantizedViews& views, const ConvolutionWindow& window,
                           const QuantizedNumbers& numbers, int threads)
      : views_(views),
        numbers_(numbers),
        lines_(views.x.dtype, views.x.dims, views.w.dims, views.y.dims, window),
        weights_(views.w, lines_),
        cut_(best_tile_cut(lines_, weights_.panels(), threads, weights_.panels())),
        parts_(lines_, cut_.lines),
        lists_(numbers, 1, weights_.channels(), weights_.padded()) {
    runs_ = ceil_divide(weights_.panels(), cut_.panels);
    workers_ = std::min<std::int64_t>(threads, parts_.count() * runs_);
    slots_at_ = round_up(lists_.bytes(), 64);
    copies_at_ = round_up(parts_.tiles() * static_cast<std::int64_t>(sizeof(PixelTile)), 64);
    slot_bytes_ = copies_at_ + parts_.copy_bytes();
  }

  Prepared prepared(const std::shared_ptr<const QuantizedTileConvolution>& self) const {
    Prepared prepared{"int8 tiles",
                      slots_at_ + workers_ * slot_bytes_,
                      [self](const Call& call) { self->run(call); },
                      {.isa = Isa::amx}};
    prepared.packed = {concat("column sums ", weights_.format()),
                       weights_.bytes() + 4 * weights_.padded(),
                       {quantized_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->pack(inputs[quantized_w], packed);
                       }};
    return prepared;
  }

 private:
  void pack(const void* w, std::byte* packed) const {
    weights_.pack(w, packed);
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + weights_.bytes());
    std::fill_n(sums, weights_.padded(), 0);
    for (std::int64_t channel = 0; channel < weights_.channels(); ++channel)
      sums[channel] = weights_.sum(w, channel);
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    const auto* const sums = reinterpret_cast<const std::int32_t*>(call.packed + weights_.bytes());
    QuantizedFinish finish = lists_.load(call, steps, memory, {0, steps.x_zero, sums});
    finish.y = views_.y.dtype;
    if (views_.residual) finish.residual = views_.residual->dtype;
    const std::int64_t tasks = parts_.count() * runs_;
    hand_out(tasks, workers_, [&](std::int64_t task, std::int64_t worker) {
      run_task(call, finish, steps.x_zero, task, memory + slots_at_ + worker * slot_bytes_);
    });
  }

  // All parts for a run of panels, then those for the next one.
  void run_task(const Call& call, const QuantizedFinish& finish, std::int32_t x_zero,
                std::int64_t task, std::byte* slot) const {
    auto* const tiles = reinterpret_cast<PixelTile*>(slot);
    const std::int64_t first_panel = task / parts_.count() * cut_.panels;
    const std::int64_t count =
        parts_.load(static_cast<const std::byte*>(call.inputs[quantized_x]), task % parts_.count(),
                    static_cast<std::uint8_t>(x_zero), slot + copies_at_, tiles);
    const std::int64_t panels = std::min(cut_.panels, weights_.panels() - first_panel);
    amx::quantized_multiply(
        {{tiles, count, lines_.row_bytes(), parts_.step_at().data(), lines_.steps(), call.packed,
          first_panel, panels, panels * weights_.panel_bytes() <= most_near_weights,
          !lines_.is_direct()},
         views_.x.dtype == DType::i8,
         finish,
         static_cast<const std::byte*>(call.inputs[quantized_residual]),
         static_cast<std::byte*>(call.outputs[0]),
         weights_.channels()});
  }

  QuantizedViews views_;
  QuantizedNumbers numbers_;
  PixelLines lines_;
  PixelWeights weights_;
  TileCut cut_;
  PixelParts parts_;
  QuantizedLists lists_;
  std::int64_t runs_, workers_, slots_at_, copies_at_, slot_bytes_;
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
