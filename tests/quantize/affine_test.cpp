// SPDX-License-Identifier: Apache-2.0
#include "quantize/affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/machine/floating_environment.h"
#include "quantize/values.h"

namespace narrowgauge::affine_test {
namespace {

using namespace testing_values;

constexpr float largest = std::numeric_limits<float>::max();
constexpr float least_normal = std::numeric_limits<float>::min();

TEST(affine, formats_of_known_ranges) {
  EXPECT_EQ(affine_format({0, 255}, DType::u8), (AffineFormat{1, 0, DType::u8}));
  EXPECT_EQ(affine_format({0, 255}, DType::i8), (AffineFormat{1, -128, DType::i8}));
  EXPECT_EQ(affine_format({-255, 0}, DType::u8), (AffineFormat{1, 255, DType::u8}));
  EXPECT_EQ(affine_format({-1, 1.55f}, DType::u8), (AffineFormat{2.55f / 255, 100, DType::u8}));
  EXPECT_EQ(affine_format({-64, 63.5f}, DType::i8), (AffineFormat{0.5f, 0, DType::i8}));
  EXPECT_EQ(symmetric_format({-254, 3}), (AffineFormat{2, 0, DType::i8}));
  EXPECT_EQ(symmetric_format({-3, 254}), (AffineFormat{2, 0, DType::i8}));
}

TEST(affine, zero_is_a_number_and_the_ends_are_near_numbers) {
  std::mt19937 dice(1);
  std::uniform_real_distribution<float> draw(-5, 5);
  for (int i = 0; i < 500; ++i) {
    const Range range{-std::exp(draw(dice)), std::exp(draw(dice))};
    for (const DType dtype : {DType::u8, DType::i8}) {
      const AffineFormat format = affine_format(range, dtype);
      EXPECT_EQ(dequantize(format, quantize(format, 0)), 0);
      for (const float end : {range.low, range.high})
        EXPECT_NEAR(dequantize(format, quantize(format, end)), end, 0.501 * double{format.scale});
    }
  }
}

TEST(affine, share_of_values_that_saturate) {
  const Floats values = normal(100000);
  const Histogram histogram = histogram_of(values);
  for (const Range& range : {Range{-1, 2}, Range{0, 0.5f}, Range{-3, 0}, Range{-9, 9}})
    for (const DType dtype : {DType::u8, DType::i8}) {
      const AffineFormat format = affine_format(range, dtype);
      const double low = dequantize(format, dtype == DType::u8 ? 0 : -128),
                   high = dequantize(format, dtype == DType::u8 ? 255 : 127),
                   half = double{format.scale} / 2;
      const auto beyond = std::ranges::count_if(values, [&](float value) {
        return double{value} < low - half || double{value} > high + half;
      });
      EXPECT_NEAR(clipped_share(histogram, format), static_cast<double>(beyond) / 100000, 1e-3)
          << range.low << ' ' << range.high;
    }
  EXPECT_EQ(clipped_share({}, affine_format({0, 1}, DType::u8)), 0);
}

TEST(affine, scales_can_always_be_divided_by) {
  const Range ranges[] = {{0, 0},       {0, 1e-45f},   {-1e-45f, 1e-45f}, {-largest, largest},
                          {0, largest}, {-largest, 0}, {-1e-38f, 0},      {0, least_normal}};
  for (const Range& range : ranges)
    for (const AffineFormat& format : {affine_format(range, DType::u8),
                                       affine_format(range, DType::i8), symmetric_format(range)}) {
      EXPECT_TRUE(std::isnormal(format.scale)) << range.low << ' ' << range.high;
      EXPECT_EQ(dequantize(format, quantize(format, 0)), 0);
    }
  EXPECT_EQ(affine_format({0, 0}, DType::u8).scale, 1);
}

TEST(affine, refuses_other_ranges_and_formats) {
  for (const Range& range : {Range{1, 2}, Range{-2, -1}, Range{NAN, 1}, Range{-1, INFINITY}}) {
    EXPECT_THROW(affine_format(range, DType::u8), UsageError);
    EXPECT_THROW(symmetric_format(range), UsageError);
  }
  EXPECT_THROW(affine_format({0, 1}, DType::i16), UsageError);
}

TEST(affine, numbers_are_rounded_to_even_and_saturated) {
  const AffineFormat format{.scale = 2, .zero_point = 10, .dtype = DType::u8};
  const std::pair<float, int> known[] = {
      {0, 10},  {1, 10},  {3, 12},    {5, 12},         {-1, 10},       {-3, 8},   {2.001f, 11},
      {-20, 0}, {-22, 0}, {490, 255}, {INFINITY, 255}, {-INFINITY, 0}, {NAN, 10}, {1e38f, 255}};
  for (const auto& [value, number] : known) EXPECT_EQ(quantize(format, value), number) << value;
  EXPECT_EQ(quantize({.scale = 1, .zero_point = 0, .dtype = DType::i8}, -1000), -128);
  EXPECT_EQ(quantize({.scale = 1, .zero_point = 0, .dtype = DType::i8}, 1000), 127);
  EXPECT_EQ(dequantize(format, 0), -20);
  EXPECT_EQ(dequantize(format, 255), 490);
}

TEST(affine, flushing_threads_change_nothing) {
  const AffineFormat format{.scale = least_normal, .zero_point = 0, .dtype = DType::i8};
  const FloatingEnvironment flush(Subnormals::flush);
  EXPECT_EQ(quantize(format, 0.75f * 0x1p-126f), 1);
  EXPECT_EQ(affine_format({0, 1e-45f}, DType::u8).scale, least_normal);
}

// Expects what the definition says for one axis: the largest absolute value of a channel is number
// 127.
void expect_quantized(const Tensor& weights, std::optional<int> axis, std::int64_t inner,
                      std::int64_t channels) {
  const QuantizedWeights made = quantize_weights(weights, axis);
  std::vector<float> most(static_cast<std::size_t>(channels));
  const auto channel_of = [&](std::int64_t i) {
    return static_cast<std::size_t>(i / inner % channels);
  };
  for (std::int64_t i = 0; i < weights.size(); ++i)
    most[channel_of(i)] = std::max(most[channel_of(i)],
                                   std::abs(weights.values<float>()[static_cast<std::size_t>(i)]));
  ASSERT_EQ(made.scales.size(), channels);
  const Tensor back = dequantize_weights(made);
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    const double scale = made.scales.at(static_cast<std::int64_t>(channel_of(i)));
    EXPECT_EQ(scale, double{most[channel_of(i)] / 127});
    EXPECT_EQ(made.numbers.at(i), std::nearbyint(weights.at(i) / scale));
    EXPECT_EQ(back.at(i), double{static_cast<float>(made.numbers.at(i) * scale)});
  }
}

TEST(affine, weights_by_channel) {
  const Tensor weights = Tensor::from({4, 3, 5}, normal(60));
  expect_quantized(weights, 0, 15, 4);
  expect_quantized(weights, 1, 5, 3);
  expect_quantized(weights, 2, 1, 5);
  expect_quantized(weights, -1, 1, 5);
  expect_quantized(weights, std::nullopt, 60, 1);
  EXPECT_EQ(quantize_weights(weights, 1).scales.dims(), Dims{3});
  EXPECT_EQ(quantize_weights(weights, std::nullopt).scales.dims(), Dims{});
  const Tensor scales = quantize_weights(weights, 1).scales;
  EXPECT_TRUE(std::ranges::equal(channel_scales(weights, 1), scales.values<float>()));
}

TEST(affine, degenerate_weights) {
  const Tensor weights =
      Tensor::from<float>({3, 2}, Floats{0, -0.0f, 1e-45f, 0, largest, -largest});
  const QuantizedWeights made = quantize_weights(weights, 0);
  const auto numbers = made.numbers.values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(numbers.begin(), numbers.end()),
            std::vector<int>({0, 0, 0, 0, 127, -127}));
  EXPECT_EQ(made.scales.at(0), 1);
  EXPECT_EQ(made.scales.at(1), double{least_normal});
  EXPECT_THROW(quantize_weights(Tensor::from<float>({2}, Floats{1, NAN}), 0), UsageError);
  EXPECT_THROW(quantize_weights(Tensor::from<float>({1}, Floats{INFINITY}), {}), UsageError);
  EXPECT_THROW(quantize_weights(weights, 2), UsageError);
  EXPECT_THROW(quantize_weights(weights, -3), UsageError);
  EXPECT_EQ(quantize_weights(Tensor(DType::f32, {0, 3}), 0).scales.size(), 0);
}

TEST(affine, bias) {
  const Tensor scales = bias_scales(0.5f, Tensor::from<float>({3}, Floats{0.25f, 1, 1e-45f}));
  EXPECT_EQ(scales.at(0), 0.125);
  EXPECT_EQ(scales.at(1), 0.5);
  EXPECT_EQ(scales.at(2), double{least_normal});
  const Tensor bias = Tensor::from<float>({3}, Floats{-1.0625f, 1e30f, 0});
  const Tensor made = quantize_bias(bias, scales);
  EXPECT_EQ(made.dtype(), DType::i32);
  EXPECT_EQ(made.at(0), -8);  // of -8.5
  EXPECT_EQ(made.at(1), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(made.at(2), 0);
  const Tensor one = quantize_bias(bias, bias_scales(1, Tensor::scalar(DType::f32, 1e-30)));
  EXPECT_EQ(one.at(0), std::numeric_limits<std::int32_t>::min());
  EXPECT_THROW(quantize_bias(bias, Tensor(DType::f32, {2})), UsageError);
  EXPECT_THROW(quantize_bias(Tensor::from<float>({1}, Floats{NAN}), Tensor::scalar(DType::f32, 1)),
               UsageError);
}

}  // namespace
}  // namespace narrowgauge::affine_test
