// SPDX-License-Identifier: Apache-2.0
#include "quantize/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/convert/keep_subnormals.h"
#include "quantize/channels.h"

namespace narrowgauge {

namespace {

// A scale that may be divided by, for a step of 0 or more between numbers. All zeros take 1.
float usable_scale(double step) {
  if (step == 0) return 1;
  const auto scale = static_cast<float>(step);
  return std::max(scale, std::numeric_limits<float>::min());
}

void require_range(const Range& range) {
  const bool fits =
      std::isfinite(range.low) && std::isfinite(range.high) && range.low <= 0 && range.high >= 0;
  require(fits, "quantisation: expected a finite range around 0, got ", double{range.low}, " to ",
          double{range.high});
}

// value / scale as ONNX's QuantizeLinear rounds it: in f32, then to the nearest even number; NaN
// gives 0.
double rounded_ratio(float value, float scale) {
  const float ratio = value / scale;
  return std::isnan(ratio) ? 0.0 : static_cast<double>(std::nearbyint(ratio));
}

Channels weight_channels(const Dims& dims, std::optional<int> axis) {
  if (!axis) return one_channel(dims);
  const auto along = channels_along(dims, *axis);
  require(along.has_value(), "quantisation: there is no axis ", *axis, " in ", dims);
  return *along;
}

// Calls visit(channel, element) for all elements in order.
template <class Visit>
void each_element(const Channels& channels, const Visit& visit) {
  std::size_t element = 0;
  for (std::int64_t o = 0; o < channels.outer; ++o)
    for (std::int64_t channel = 0; channel < channels.count; ++channel)
      for (std::int64_t i = 0; i < channels.inner; ++i)
        visit(static_cast<std::size_t>(channel), element++);
}

std::vector<float> scales_of(const Tensor& weights, const Channels& channels, int most_number) {
  const std::span<const float> values = weights.values<float>();
  std::vector<float> most(static_cast<std::size_t>(channels.count));
  each_element(channels, [&](std::size_t channel, std::size_t i) {
    require(std::isfinite(values[i]), "quantisation: weight ", i, " is ", double{values[i]},
            ", expected a finite one");
    most[channel] = std::max(most[channel], std::abs(values[i]));
  });
  for (float& each : most) each = usable_scale(double{each} / most_number);
  return most;
}

Dims scale_dims(std::size_t count, bool has_axis) {
  return has_axis ? Dims{static_cast<std::int64_t>(count)} : Dims{};
}

}  // namespace

AffineFormat affine_format(const Range& range, DType dtype) {
  const cpu::KeepSubnormals keep;
  require_range(range);
  require(dtype == DType::u8 || dtype == DType::i8, "quantisation: expected u8 or i8, got ", dtype);
  constexpr int steps = 255;
  AffineFormat format{.scale = 1, .zero_point = least_number(dtype), .dtype = dtype};
  format.scale = usable_scale((double{range.high} - double{range.low}) / steps);
  const double numbers_below = std::nearbyint(-double{range.low} / double{format.scale});
  format.zero_point += static_cast<int>(std::clamp<double>(numbers_below, 0, steps));
  return format;
}

AffineFormat symmetric_format(const Range& range) {
  const cpu::KeepSubnormals keep;
  require_range(range);
  const double most = std::max(-range.low, range.high);
  return {.scale = usable_scale(most / WeightFormat{}.most()), .zero_point = 0, .dtype = DType::i8};
}

int least_number(DType dtype) { return dtype == DType::u8 ? 0 : -128; }
int most_number(DType dtype) { return dtype == DType::u8 ? 255 : 127; }

int quantize(const AffineFormat& format, float value) {
  const cpu::KeepSubnormals keep;
  const double number = rounded_ratio(value, format.scale) + format.zero_point;
  return static_cast<int>(
      std::clamp<double>(number, least_number(format.dtype), most_number(format.dtype)));
}

float dequantize(const AffineFormat& format, int number) {
  const cpu::KeepSubnormals keep;
  return static_cast<float>(number - format.zero_point) * format.scale;
}

double clipped_share(const Histogram& histogram, const AffineFormat& format) {
  const auto border = [&](int number, double by) {
    return (number - format.zero_point + by) * double{format.scale};
  };
  const double low = border(least_number(format.dtype), -0.5),
               high = border(most_number(format.dtype), 0.5);
  double clipped = 0;
  for (const HistogramBin& bin : histogram.bins()) {
    const double begin = double{bin.low}, width = double{bin.high} - begin;
    const double inside = std::min(begin + width, high) - std::max(begin, low);
    const double share = inside < 0 ? 1 : width > 0 ? 1 - inside / width : 0;
    clipped += share * static_cast<double>(bin.count);
  }
  return histogram.is_empty() ? 0 : clipped / static_cast<double>(histogram.count());
}

std::vector<float> channel_scales(const Tensor& weights, int axis, const WeightFormat& format) {
  const cpu::KeepSubnormals keep;
  return scales_of(weights, weight_channels(weights.dims(), axis), format.most());
}

QuantizedWeights quantize_weights(const Tensor& weights, std::optional<int> axis,
                                  const WeightFormat& format) {
  const cpu::KeepSubnormals keep;
  if (!format.by_channel) axis.reset();
  const Channels channels = weight_channels(weights.dims(), axis);
  const std::vector<float> scales = scales_of(weights, channels, format.most());
  QuantizedWeights made{.numbers = Tensor(DType::i8, weights.dims()),
                        .scales = Tensor::from(scale_dims(scales.size(), axis.has_value()), scales),
                        .axis = axis};
  const std::span<const float> values = weights.values<float>();
  const std::span<std::int8_t> numbers = made.numbers.values<std::int8_t>();
  each_element(channels, [&](std::size_t channel, std::size_t i) {
    const double number = rounded_ratio(values[i], scales[channel]);
    numbers[i] =
        static_cast<std::int8_t>(std::clamp<double>(number, -format.most(), format.most()));
  });
  return made;
}

Tensor dequantize_weights(const QuantizedWeights& weights) {
  const cpu::KeepSubnormals keep;
  Tensor made(DType::f32, weights.numbers.dims());
  const std::span<const std::int8_t> numbers = weights.numbers.values<std::int8_t>();
  const std::span<const float> scales = weights.scales.values<float>();
  const std::span<float> values = made.values<float>();
  const Channels channels = weight_channels(weights.numbers.dims(), weights.axis);
  each_element(channels, [&](std::size_t channel, std::size_t i) {
    values[i] = static_cast<float>(numbers[i]) * scales[channel];
  });
  return made;
}

Tensor bias_scales(float x_scale, const Tensor& w_scales) {
  const cpu::KeepSubnormals keep;
  Tensor made = w_scales.clone();
  for (float& scale : made.values<float>()) scale = usable_scale(double{x_scale} * double{scale});
  return made;
}

Tensor quantize_bias(const Tensor& bias, const Tensor& scales) {
  const cpu::KeepSubnormals keep;
  const std::span<const float> values = bias.values<float>(), by = scales.values<float>();
  require(by.size() == 1 || by.size() == values.size(), "quantisation: expected one scale or ",
          values.size(), " for a bias, got ", by.size());
  Tensor made(DType::i32, bias.dims());
  const std::span<std::int32_t> numbers = made.values<std::int32_t>();
  constexpr double least = std::numeric_limits<std::int32_t>::min(),
                   most = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double ratio = double{values[i]} / double{by.size() == 1 ? by[0] : by[i]};
    require(!std::isnan(ratio), "quantisation: bias ", i, " is not a number");
    numbers[i] = static_cast<std::int32_t>(std::clamp(std::nearbyint(ratio), least, most));
  }
  return made;
}

}  // namespace narrowgauge
