// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_convolution.h"

#include <algorithm>
#include <memory>

#include "base/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/tiles/batch_inner_convolution.h"
#include "kernels/cpu/tiles/pixel_tasks.h"

namespace narrowgauge::cpu {
namespace {

enum Source { source_x, source_w, source_bias, source_residual };

// Memory holds the bias, and what the tasks need.
class PixelConvolution {
 public:
  PixelConvolution(const ConvolutionViews& views, const ConvolutionWindow& window,
                   const PixelEpilogue& epilogue, const ContractionOptions& options)
      : views_(views),
        epilogue_(epilogue),
        finish_(options.finish),
        tasks_(views.x, views.w, views.y, window,
               options.threads > 0 ? options.threads : thread_count(),
               static_cast<bool>(options.finish)),
        tasks_at_(round_up(4 * tasks_.weights().padded(), 64)) {}

  Prepared prepared(const std::shared_ptr<const PixelConvolution>& self) const {
    Prepared prepared{"amx tiles of pixels", tasks_at_ + tasks_.workspace(),
                      [self](const Call& call) { self->run(call); }, tile_facts(views_.x.dtype)};
    prepared.packed = {tasks_.weights().format(),
                       tasks_.weights().bytes(),
                       {source_w},
                       [self](const void* const* inputs, std::byte* packed) {
                         self->tasks_.weights().pack(inputs[source_w], packed);
                       }};
    return prepared;
  }

 private:
  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    auto* const bias = reinterpret_cast<float*>(memory);
    const std::int64_t channels = tasks_.weights().channels();
    std::fill_n(bias, tasks_.weights().padded(), 0.0F);
    if (views_.bias) load_bias(views_.bias->dtype, call.inputs[source_bias], channels, bias);
    tasks_.run({call.inputs[source_x], 0, call.packed, bias, memory + tasks_at_},
               [&](const PixelProduct& product, const PixelParts::Pixels& pixels) {
                 const void* const residual =
                     epilogue_.residual ? call.inputs[source_residual] : nullptr;
                 amx::convolve_pixels({product, static_cast<const std::byte*>(residual),
                                       static_cast<std::byte*>(call.outputs[0]), views_.y.dtype,
                                       views_.x.dtype == DType::f32, channels, epilogue_});
                 if (finish_)
                   finish_(call, pixels.first * channels, (pixels.first + pixels.count) * channels);
               });
  }

  ConvolutionViews views_;
  PixelEpilogue epilogue_;
  Finish finish_;
  PixelTasks tasks_;
  std::int64_t tasks_at_;
};

bool lies_together(const View& view) {
  return same_layout(view, channels_last_view(view.dtype, view.dims));
}

// Why so few products of f32 stay as IEEE has them; "" if they do not.
std::string small_reason(const ConvolutionViews& views) {
  const std::int64_t channels = views.w.dims[0], depth = element_count(views.w.dims) / channels;
  const std::int64_t pixels = element_count(views.y.dims) / channels;
  constexpr std::int64_t least = 32;
  return unless(std::min({channels, depth, pixels}) >= least,
                concat(pixels, " sums of ", depth, " products for ", channels, " channels"));
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
      [&] { return dtype == DType::f32 ? small_reason(views) : std::string(); },
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
