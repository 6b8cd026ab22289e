// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_convolution.h"

#include <algorithm>
#include <memory>

#include "base/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/tiles/batch_inner_convolution.h"

namespace narrowgauge::cpu {
namespace {

enum Source { source_x, source_w, source_bias, source_residual };

// Memory holds the bias, the weights unless they are packed ahead, and for each thread a slot with
// its tiles and copied lines.
class PixelConvolution {
 public:
  PixelConvolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                   const PixelEpilogue& epilogue, const ContractionOptions& options)
      : views_(views),
        epilogue_(epilogue),
        finish_(options.finish),
        lines_(views.x.dtype, views.x.dims, views.w.dims, views.y.dims, window),
        weights_(views.w, lines_),
        cut_(cut(options)),
        parts_(lines_, cut_.lines) {
    const std::int64_t threads = options.threads > 0 ? options.threads : thread_count();
    runs_ = ceil_divide(weights_.panels(), cut_.panels);
    workers_ = std::min<std::int64_t>(threads, parts_.count() * runs_);
    slots_at_ = round_up(4 * weights_.padded(), 64);
    copies_at_ = round_up(parts_.tiles() * static_cast<std::int64_t>(sizeof(PixelTile)), 64);
    slot_bytes_ = copies_at_ + parts_.copy_bytes();
  }

  Prepared prepared(const std::shared_ptr<const PixelConvolution>& self) const {
    Prepared prepared{"amx tiles of pixels", slots_at_ + workers_ * slot_bytes_,
                      [self](const Call& call) { self->run(call); }, tile_facts(views_.x.dtype)};
    prepared.packed = {weights_.format(),
                       weights_.bytes(),
                       {source_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->weights_.pack(inputs[source_w], packed);
                       }};
    return prepared;
  }

 private:
  // What runs over parts of the result takes whole pixels.
  TileCut cut(const ContractionOptions& options) const {
    const std::int64_t threads = options.threads > 0 ? options.threads : thread_count();
    return best_tile_cut(lines_, weights_.panels(), threads, finish_ ? 1 : weights_.panels());
  }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    auto* const bias = reinterpret_cast<float*>(memory);
    std::fill_n(bias, weights_.padded(), 0.0F);
    if (views_.bias)
      load_bias(views_.bias->dtype, call.inputs[source_bias], weights_.channels(), bias);
    hand_out(parts_.count() * runs_, workers_, [&](std::int64_t task, std::int64_t worker) {
      run_task(call, bias, task, memory + slots_at_ + worker * slot_bytes_);
    });
  }

  // All parts for a run of panels, then those for the next one.
  void run_task(const Call& call, const float* bias, std::int64_t task, std::byte* slot) const {
    auto* const tiles = reinterpret_cast<PixelTile*>(slot);
    const std::int64_t first_panel = task / parts_.count() * cut_.panels;
    const std::int64_t panels = std::min(cut_.panels, weights_.panels() - first_panel);
    const std::int64_t part = task % parts_.count();
    const std::int64_t count = parts_.load(static_cast<const std::byte*>(call.inputs[source_x]),
                                           part, 0, slot + copies_at_, tiles);
    amx::convolve_pixels(
        {{tiles, count, lines_.row_bytes(), parts_.step_at().data(), lines_.steps(), call.packed,
          first_panel, panels, panels * weights_.panel_bytes() <= most_near_weights,
          !lines_.is_direct()},
         bias,
         epilogue_.residual ? static_cast<const std::byte*>(call.inputs[source_residual]) : nullptr,
         static_cast<std::byte*>(call.outputs[0]),
         views_.y.dtype,
         weights_.channels(),
         epilogue_});
    if (!finish_) return;
    const PixelParts::Pixels pixels = parts_.pixels(part);
    finish_(call, pixels.first * weights_.channels(),
            (pixels.first + pixels.count) * weights_.channels());
  }

  ConvolutionViews views_;
  PixelEpilogue epilogue_;
  Finish finish_;
  PixelLines lines_;
  PixelWeights weights_;
  TileCut cut_;
  PixelParts parts_;
  std::int64_t runs_, workers_, slots_at_, copies_at_, slot_bytes_;
};

bool lies_together(const View& view) {
  return same_layout(view, channels_last_view(view.dtype, view.dims));
}

}  // namespace

std::string pixel_convolution_reason(const ConvolutionViews& views, const ConvolutionWindow& window,
                                     Isa isa) {
  const DType dtype = views.x.dtype;
  return first_reason(
      [&] { return tile_isa_reason(isa); },
      [&] {
        return unless(dtype == DType::bf16 || dtype == DType::f32, concat("images of ", dtype));
      },
      [&] { return unless(views.w.dtype == dtype, concat("weights of ", views.w.dtype)); },
      [&] {
        return unless(views.y.dtype == dtype || views.y.dtype == DType::f32,
                      concat("result of ", views.y.dtype));
      },
      [&] { return unless(!views.bias || views.bias->strides == Dims{1}, "a bias with strides"); },
      [&] { return unless(window.groups == 1, "groups of channels"); },
      [&] { return unless(views.x.dims.size() <= 4, "three spatial axes"); },
      [&] {
        return unless(element_count(views.x.dims) > 0 && element_count(views.y.dims) > 0 &&
                          element_count(views.w.dims) > 0,
                      "nothing to compute");
      },
      [&] {
        return unless(lies_together(views.x) && lies_together(views.y), "channels that lie apart");
      });
}

Prepared prepare_pixel_convolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                                   const PixelEpilogue& epilogue,
                                   const ContractionOptions& options) {
  const std::string reason = pixel_convolution_reason(views, window, isa());
  require(reason.empty(), "convolution on tiles of pixels: ", reason);
  const auto made = std::make_shared<const PixelConvolution>(views, window, epilogue, options);
  return made->prepared(made);
}

}  // namespace narrowgauge::cpu
