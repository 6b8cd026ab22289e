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

// Weights as panels of 32 channels [panels][steps][2 halves][16 fours][16 channels][4], and the
// sums of each channel.
class QuantizedTileWeights {
 public:
  QuantizedTileWeights(const View& w, const PixelLines& lines)
      : w_(w), depth_at_(lines.depth_at()) {
    places_ = {0};
    for (std::size_t axis = 2; axis < w.dims.size(); ++axis) {
      std::vector<std::int64_t> further;
      for (const std::int64_t at : places_)
        for (std::int64_t i = 0; i < w.dims[axis]; ++i) further.push_back(at + i * w.strides[axis]);
      places_ = std::move(further);
    }
    steps_ = lines.steps();
  }

  std::int64_t channels() const { return w_.dims[0]; }
  std::int64_t panels() const { return ceil_divide(channels(), tile_panel); }
  std::int64_t padded() const { return panels() * tile_panel; }
  std::int64_t panel_bytes() const { return steps_ * tile_panel_bytes; }
  std::int64_t sums_at() const { return panels() * panel_bytes(); }
  std::int64_t bytes() const { return sums_at() + 4 * padded(); }
  std::string format() const {
    std::string text = concat("byte tiles ", w_.dtype, ' ', steps_);
    for (std::size_t axis = 0; axis < w_.dims.size(); ++axis)
      text += concat(' ', w_.dims[axis], '*', w_.strides[axis]);
    return text;
  }

  void pack(const void* w, std::byte* packed) const {
    std::fill_n(packed, bytes(), std::byte{0});
    auto* const sums = reinterpret_cast<std::int32_t*>(packed + sums_at());
    parallel_for(channels(), tile_panel, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t channel = begin; channel < end; ++channel)
        sums[channel] = pack_channel(static_cast<const std::int8_t*>(w), channel, packed);
    });
  }

 private:
  std::int32_t pack_channel(const std::int8_t* w, std::int64_t channel, std::byte* packed) const {
    constexpr std::int64_t half = tile_panel_bytes / 2, fours = 4;
    std::byte* const panel = packed + channel / tile_panel * panel_bytes();
    const std::int64_t lane = channel % tile_panel;
    std::byte* const column = panel + lane / tile_pixels * half + lane % tile_pixels * fours;
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < std::ssize(depth_at_); ++k) {
      const std::int32_t depth = depth_at_[static_cast<std::size_t>(k)];
      if (depth < 0) continue;
      const std::int64_t tap = depth / w_.dims[1], in = depth % w_.dims[1];
      const std::int8_t value =
          w[channel * w_.strides[0] + in * w_.strides[1] + places_[static_cast<std::size_t>(tap)]];
      sum += value;
      column[k / tile_step_bytes * tile_panel_bytes + k % tile_step_bytes / fours * 64 +
             k % fours] = static_cast<std::byte>(value);
    }
    return sum;
  }

  View w_;
  std::vector<std::int32_t> depth_at_;
  std::vector<std::int64_t> places_;  // of the taps
  std::int64_t steps_;
};

// Weights that are read again for each two tiles, so that lines of y are written as a whole.
constexpr std::int64_t most_near_weights = 256 << 10;

// Memory holds the lists of channels, and for each thread a slot with its tiles and copied lines.
class QuantizedTileConvolution {
 public:
  QuantizedTileConvolution(const QuantizedViews& views, const ConvolutionWindow& window,
                           const QuantizedNumbers& numbers, int threads)
      : views_(views),
        numbers_(numbers),
        lines_(views.x.dims, views.w.dims, views.y.dims, window, 1),
        weights_(views.w, lines_),
        cut_(best_tile_cut(lines_, weights_.panels(), threads)),
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
    prepared.packed = {weights_.format(),
                       weights_.bytes(),
                       {quantized_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->weights_.pack(inputs[quantized_w], packed);
                       }};
    return prepared;
  }

 private:
  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const QuantizedSteps steps = quantized_steps(numbers_, call, views_.y.dtype);
    const auto* const sums =
        reinterpret_cast<const std::int32_t*>(call.packed + weights_.sums_at());
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
    amx::quantized_multiply({tiles, count, lines_.row_bytes(), parts_.step_at().data(),
                             lines_.steps(), call.packed, first_panel,
                             std::min(cut_.panels, weights_.panels() - first_panel),
                             views_.x.dtype == DType::i8, !lines_.is_direct(),
                             cut_.panels * weights_.panel_bytes() <= most_near_weights, finish,
                             static_cast<const std::byte*>(call.inputs[quantized_residual]),
                             static_cast<std::byte*>(call.outputs[0]), weights_.channels()});
  }

  QuantizedViews views_;
  QuantizedNumbers numbers_;
  PixelLines lines_;
  QuantizedTileWeights weights_;
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
