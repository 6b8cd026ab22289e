// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_convolution.h"

#include <algorithm>
#include <memory>

#include "base/machine/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/batch_inner/batch_inner_convolution.h"
#include "kernels/cpu/tiles/pixel_tasks.h"

namespace narrowgauge::cpu {
namespace {

// Memory holds the bias, and what the tasks need.
class PixelConvolution {
 public:
  PixelConvolution(const BoundedConvolution& convolution, const Finish& finish)
      : c_(convolution),
        finish_(finish),
        tasks_(c_.views.x, c_.views.w, c_.views.y, c_.window,
               c_.threads > 0 ? c_.threads : thread_count(), static_cast<bool>(finish)),
        tasks_at_(round_up(4 * tasks_.weights().padded(), 64)) {}

  Prepared prepared(const std::shared_ptr<const PixelConvolution>& self) const {
    Prepared prepared{"amx tiles of pixels", tasks_at_ + tasks_.workspace(),
                      [self](const Call& call) { self->run(call); }, tile_facts(c_.views.x.dtype)};
    prepared.packed = {tasks_.weights().format(),
                       tasks_.weights().bytes(),
                       {bounded_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->tasks_.weights().pack(inputs[bounded_w], packed);
                       }};
    return prepared;
  }

 private:
  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    auto* const bias = reinterpret_cast<float*>(memory);
    const std::int64_t channels = tasks_.weights().channels();
    std::fill_n(bias, tasks_.weights().padded(), 0.0F);
    if (c_.views.bias) load_bias(c_.views.bias->dtype, call.inputs[bounded_bias], channels, bias);
    const void* const residual = c_.residual ? call.inputs[bounded_residual] : nullptr;
    tasks_.run({call.inputs[bounded_x], 0, call.packed, memory + tasks_at_},
               [&](const PixelProduct& product, const PixelParts::Pixels& pixels) {
                 amx::convolve_pixels({product, bias, static_cast<const std::byte*>(residual),
                                       static_cast<std::byte*>(call.outputs[0]), c_.views.y.dtype,
                                       c_.views.x.dtype == DType::f32, channels, c_.low, c_.high,
                                       c_.gelu});
                 if (finish_)
                   finish_(call, pixels.first * channels, (pixels.first + pixels.count) * channels);
               });
  }

  BoundedConvolution c_;
  Finish finish_;
  PixelTasks tasks_;
  std::int64_t tasks_at_;
};

// Why so few products of f32 stay as IEEE has them; "" if they do not.
std::string small_reason(const ConvolutionViews& views) {
  const std::int64_t channels = views.w.dims[0], depth = element_count(views.w.dims) / channels;
  const std::int64_t pixels = element_count(views.y.dims) / channels;
  constexpr std::int64_t least = 32;
  return unless(std::min({channels, depth, pixels}) >= least,
                concat(pixels, " sums of ", depth, " products for ", channels, " channels"));
}

}  // namespace

std::string pixel_convolution_reason(const BoundedConvolution& convolution, Isa isa) {
  const auto& [views, window, residual, low, high, gelu, threads, lasting] = convolution;
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
      [&] { return unless(!gelu || views.y.dtype == DType::bf16, "gelu of f32"); },
      [&] { return unless(!gelu || !residual, "gelu behind a residual"); },
      [&] { return unless(!views.bias || views.bias->strides == Dims{1}, "a bias with strides"); },
      [&] {
        return unless(std::ranges::find(lasting, bounded_w) != lasting.end(),
                      "weights that may change");
      },
      [&] { return unless(window.groups == 1, "groups of channels"); },
      [&] { return unless(views.x.dims.size() <= 4, "three spatial axes"); },
      [&] {
        return unless(element_count(views.x.dims) > 0 && element_count(views.y.dims) > 0 &&
                          element_count(views.w.dims) > 0,
                      "nothing to compute");
      },
      [&] { return dtype == DType::f32 ? small_reason(views) : std::string(); },
      [&] {
        return unless(is_channels_last(views.x) && is_channels_last(views.y),
                      "channels that lie apart");
      },
      [&] {
        return unless(!residual || same_layout(*residual, views.y),
                      "a residual that lies otherwise");
      });
}

Prepared prepare_pixel_convolution(const BoundedConvolution& convolution, const Finish& finish) {
  const std::string reason = pixel_convolution_reason(convolution, isa());
  require(reason.empty(), "convolution on tiles of pixels: ", reason);
  const auto made = std::make_shared<const PixelConvolution>(convolution, finish);
  return made->prepared(made);
}

}  // namespace narrowgauge::cpu
