// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantized_offer.h"

#include <array>
#include <cmath>
#include <numbers>

#include "ops/offers/contraction.h"
#include "ops/quantized/int8.h"

namespace narrowgauge {

using namespace cpu;  // NOLINT: the names of inputs

namespace {

void require_residual(const Inference& in, const Shape& y) {
  if (!in.has(quantized_residual)) return;
  const DType dtype = in.dtype(quantized_residual);
  require(in.shape(quantized_residual) == y, in.op_name(), ": expected a residual of shape ", y,
          ", got ", in.shape(quantized_residual));
  const bool bytes = dtype == DType::u8 || dtype == DType::i8;
  require(bytes || dtype == DType::f32, in.op_name(), ": a residual cannot be ", dtype);
  require(bytes == in.has(quantized_residual_scale), in.op_name(),
          ": a residual of bytes, and no other, has a scale");
  require(bytes || !in.has(quantized_residual_zero), in.op_name(),
          ": a residual of f32 has no zero point");
}

void require_end(const Inference& in, const QuantizedEnd& end) {
  require(end.dtype == DType::f32 || end.dtype == DType::bf16, in.op_name(),
          ": y without a scale is f32 or bf16, not ", end.dtype);
  const bool bounded = std::isfinite(end.low) || std::isfinite(end.high);
  require(!end.gelu || (!bounded && !in.has(quantized_residual)), in.op_name(),
          ": gelu goes without a residual and bounds");
}

}  // namespace

TensorType quantized_type(const Inference& in, Shape y, const Dim& channels,
                          const QuantizedEnd& end) {
  require_lines(in, quantized_x_scale, {"scale of x", 1});
  require_lines(in, quantized_x_zero, {"zero point of x", 1});
  require_lines(in, quantized_w_scale, {"scale of w", channels});
  require_lines(in, quantized_w_zero, {"zero point of w", channels});
  require_lines(in, quantized_residual_scale, {"scale of the residual", 1});
  require_lines(in, quantized_residual_zero, {"zero point of the residual", 1});
  require_lines(in, quantized_y_scale, {"scale of y", 1});
  require_lines(in, quantized_y_zero, {"zero point of y", 1});
  if (in.has(quantized_bias))
    require(in.shape(quantized_bias) == Shape{channels}, in.op_name(), ": expected a bias of ",
            channels, " values, got ", in.shape(quantized_bias));
  require_residual(in, y);
  require(in.has(quantized_y_scale) == in.has(quantized_y_zero), in.op_name(),
          ": y has a scale and a zero point, or neither");
  require_end(in, end);
  return {in.has(quantized_y_zero) ? in.dtype(quantized_y_zero) : end.dtype, std::move(y)};
}

bool input_given(const Request& request, int input) {
  return input < std::ssize(request.inputs) && request.input(input).present;
}

namespace {

bool is_known_zero(const Operand& operand) {
  if (!operand.constant) return false;
  for (std::int64_t i = 0; i < operand.constant->size(); ++i)
    if (operand.constant->at(i) != 0) return false;
  return true;
}

}  // namespace

std::optional<std::int32_t> known_x_zero(const Request& request) {
  if (!input_given(request, quantized_x_zero)) return 0;
  const Tensor* const known = request.input(quantized_x_zero).constant;
  if (!known) return {};
  return static_cast<std::int32_t>(known->at(0));
}

QuantizedNumbers quantized_numbers(const Request& request, const QuantizedEnd& end) {
  const auto numbers = [&](int input) -> Int8Numbers {
    if (!input_given(request, input)) return {};
    // Weights whose zero points are 0 need no sums of rows.
    if (input == quantized_w_zero && is_known_zero(request.input(input))) return {};
    const Operand& operand = request.input(input);
    return {operand.dtype, element_count(operand.dims), input};
  };
  return {numbers(quantized_x_scale),
          numbers(quantized_x_zero),
          numbers(quantized_w_scale),
          numbers(quantized_w_zero),
          numbers(quantized_bias),
          numbers(quantized_residual_scale),
          numbers(quantized_residual_zero),
          numbers(quantized_y_scale),
          numbers(quantized_y_zero),
          end.low,
          end.high,
          end.gelu};
}

bool weights_last(const Request& request) {
  return request.input(quantized_w).lasts &&
         (!input_given(request, quantized_w_zero) || request.input(quantized_w_zero).lasts);
}

bool numbers_last(const Request& request) {
  for (int input = quantized_x_scale; input < quantized_inputs; ++input)
    if (input != quantized_residual && input_given(request, input) && !request.input(input).lasts)
      return false;
  return true;
}

namespace {

using Sources = std::array<const void*, quantized_inputs>;

Sources sources_of(std::span<const narrowgauge::View> inputs) {
  NG_INVARIANT(inputs.size() <= quantized_inputs);
  Sources sources{};
  for (std::size_t i = 0; i < inputs.size(); ++i) sources[i] = inputs[i].data;
  return sources;
}

void set_packing(Offer& offer, Packed packed) {
  if (packed.bytes == 0) return;
  offer.packing = {
      std::move(packed.format), packed.bytes, std::move(packed.inputs),
      [run = std::move(packed.run)](std::span<const narrowgauge::View> inputs, std::byte* bytes) {
        run(sources_of(inputs).data(), bytes);
      }};
}

}  // namespace

std::string saturation_reason(const Request& request) {
  if (request.target.isa >= Isa::vnni) return {};
  return concat("oneDNN saturates sums of bytes in 16 bits without VNNI, this is ",
                name(request.target.isa));
}

Offer quantized_offer(std::function<Prepared()> prepare) {
  Offer offer;
  offer.prepare = [prepare = std::move(prepare)](Offer& ready) {
    Prepared prepared = prepare();
    describe(ready, prepared);
    set_packing(ready, std::move(prepared.packed));
    ready.run = [run = std::move(prepared.run)](const KernelCall& call) {
      const Sources sources = sources_of(call.inputs);
      void* const y = call.outputs[0].data;
      run({sources.data(), &y, call.workspace, nullptr, call.packed});
    };
  };
  return offer;
}

void store_quantized(const std::vector<ReferenceView>& in, const ReferenceView& y, std::int64_t i,
                     std::int64_t channel, std::int64_t sum, const QuantizedEnd& end) {
  const float y_step = int8_scale(in, quantized_y_scale, 0), step = end.gelu ? 1 : y_step;
  const float factor =
      int8_scale(in, quantized_x_scale, 0) * int8_scale(in, quantized_w_scale, channel) / step;
  const ReferenceView* const bias = view_at(in, quantized_bias);
  const float shift = (bias ? static_cast<float>((*bias)[channel]) : 0.0F) / step;
  float value = std::fma(static_cast<float>(wrapped_int32(sum)), factor, shift);
  if (const ReferenceView* const residual = view_at(in, quantized_residual)) {
    const auto zero = static_cast<float>(int8_zero(in, quantized_residual_zero, 0));
    value = std::fma(static_cast<float>((*residual)[i]) - zero,
                     int8_scale(in, quantized_residual_scale, 0) / step, value);
  }
  if (end.gelu)
    value = static_cast<float>(double{value} * std::erfc(-value / std::numbers::sqrt2) / 2) *
            (1 / y_step);
  const float low = static_cast<float>(end.low) / step;
  const float high = static_cast<float>(end.high) / step;
  if (value < low) value = low;
  if (value > high) value = high;
  if (is_floating(y.dtype())) {
    y.set(i, double{value});
    return;
  }
  const double whole = std::isnan(value) ? 0 : std::nearbyint(double{value});
  y.set(i, whole + static_cast<double>(int8_zero(in, quantized_y_zero, 0)));
}

}  // namespace narrowgauge
