// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_convolution.h"

#include <algorithm>
#include <memory>

#include "base/machine/cpu.h"
#include "ir/reason.h"
#include "kernels/cpu/bytes/quantized_depthwise.h"
#include "kernels/cpu/bytes/quantized_pixels.h"
#include "kernels/cpu/bytes/quantized_row_convolution.h"
#include "kernels/cpu/core/strided_copy.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

// Brings operands to the layout of the kernels in a workspace, and the result back.
struct Moved {
  std::optional<View> x, y, residual;  // as they lie, where that is otherwise
  std::int64_t x_at = 0, y_at = 0, residual_at = 0, own_at = 0;
};

std::optional<View> unless_channels_last(const View& view) {
  if (is_channels_last(view)) return {};
  return view;
}

Moved moved_operands(const QuantizedViews& views) {
  Moved moved{unless_channels_last(views.x), unless_channels_last(views.y), {}};
  if (views.residual) moved.residual = unless_channels_last(*views.residual);
  const auto place = [&](const std::optional<View>& view, std::int64_t& at) {
    at = moved.own_at;
    if (view) moved.own_at += round_up(element_count(view->dims) * bits(view->dtype) / 8, 64);
  };
  place(moved.x, moved.x_at);
  place(moved.y, moved.y_at);
  place(moved.residual, moved.residual_at);
  return moved;
}

void run_moved(const Moved& moved, const Prepared& inner, const Call& call) {
  auto* const memory = static_cast<std::byte*>(call.workspace);
  std::array<const void*, quantized_inputs> inputs{};
  std::copy_n(call.inputs, quantized_inputs, inputs.begin());
  const auto bring = [&](const std::optional<View>& view, int input, std::int64_t at) {
    if (!view) return;
    copy_strided(*view, call.inputs[input], channels_last_view(view->dtype, view->dims),
                 memory + at);
    inputs[static_cast<std::size_t>(input)] = memory + at;
  };
  bring(moved.x, quantized_x, moved.x_at);
  bring(moved.residual, quantized_residual, moved.residual_at);
  void* const y = moved.y ? memory + moved.y_at : call.outputs[0];
  inner.run({inputs.data(), &y, memory + moved.own_at, call.flushed, call.packed});
  if (moved.y)
    copy_strided(channels_last_view(moved.y->dtype, moved.y->dims), y, *moved.y, call.outputs[0]);
}

bool is_byte_or_f32(DType dtype) { return is_byte(dtype) || dtype == DType::f32; }

}  // namespace

std::string quantized_convolution_reason(const QuantizedViews& views) {
  const auto& [x, w, y, residual, w_lasts, numbers_last] = views;
  return first_reason(
      [&] {
        return unless(is_byte(x.dtype) && is_byte(w.dtype),
                      concat("operands of ", x.dtype, " and ", w.dtype));
      },
      [&] {
        const bool bf16 = y.dtype == DType::bf16 && !residual;
        return unless(bf16 || is_byte_or_f32(y.dtype), concat("result of ", y.dtype));
      },
      [&] {
        return unless(!residual || is_byte_or_f32(residual->dtype), "residual of another dtype");
      },
      [&] {
        const bool some =
            element_count(y.dims) > 0 && element_count(x.dims) > 0 && element_count(w.dims) > 0;
        return unless(some, "nothing to compute");
      });
}

Prepared prepare_quantized_convolution(const QuantizedViews& views, const ConvolutionWindow& window,
                                       const QuantizedNumbers& numbers, int threads) {
  const std::string reason = quantized_convolution_reason(views);
  require(reason.empty(), "quantised convolution: ", reason);
  const int workers = threads > 0 ? threads : thread_count();
  const bool each_channel = is_quantized_depthwise(views, window);
  const bool pixels = quantized_pixels_reason(views, window, numbers, isa()).empty();
  const auto prepare = each_channel ? prepare_quantized_depthwise
                       : pixels     ? prepare_quantized_pixels
                                    : prepare_quantized_rows;
  Prepared inner = prepare(views, window, numbers, workers);
  const Moved moved = moved_operands(views);
  if (moved.own_at == 0) return inner;
  Prepared prepared = inner;
  prepared.workspace += moved.own_at;
  prepared.run = [moved, inner = std::move(inner)](const Call& call) {
    run_moved(moved, inner, call);
  };
  return prepared;
}

}  // namespace narrowgauge::cpu
