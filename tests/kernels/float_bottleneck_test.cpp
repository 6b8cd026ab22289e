// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_bottleneck.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "base/machine/cpu.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"

namespace narrowgauge::cpu::float_bottleneck_test {
namespace {

#define NG_NEEDS_AVX512() \
  if (isa() < Isa::avx512) GTEST_SKIP() << "this CPU has no AVX-512"

// An inverted bottleneck by its window of each channel.
struct BottleneckCase {
  ConvolutionCase windows;
  std::int64_t channels, outputs;
  int threads = 2;
  std::optional<ConvolutionCase> image{};  // the expansion, unless that is 1x1

  ConvolutionCase expansion() const {
    if (image) return *image;
    return {windows.name,
            windows.batch,
            channels,
            windows.channels,
            windows.size,
            {1, 1},
            {},
            {},
            {},
            {},
            1,
            windows.bias};
  }
  ConvolutionCase projection() const {
    const Dims y = windows.y_dims();
    return {windows.name,
            windows.batch,
            windows.channels,
            outputs,
            {y[2], y[3]},
            {1, 1},
            {},
            {},
            {},
            {},
            1,
            windows.bias};
  }
};

ConvolutionCase windows(const char* name, std::int64_t batch, std::int64_t channels,
                        const Dims& size, const Dims& kernel, const Dims& strides,
                        const Dims& dilations, const Dims& pads) {
  return {name,    batch,     channels, channels, size,     kernel,
          strides, dilations, pads,     pads,     channels, true};
}

std::vector<BottleneckCase> cases() {
  ConvolutionCase uneven = windows("uneven pads", 1, 24, {12, 10}, {3, 2}, {1, 1}, {}, {2, 0});
  uneven.pads_end = {0, 3};
  uneven.bias = false;
  return {
      {windows("one band", 1, 48, {9, 7}, {3, 3}, {1, 1}, {}, {1, 1}), 8, 16, 1},
      {windows("a band of each thread", 1, 40, {14, 14}, {3, 3}, {1, 1}, {}, {1, 1}), 24, 40},
      {windows("strides", 2, 72, {15, 17}, {3, 3}, {2, 2}, {}, {1, 1}), 16, 24},
      {windows("in steps", 1, 72, {40, 50}, {3, 3}, {1, 1}, {}, {1, 1}), 16, 24, 1},
      {windows("in steps, with strides", 1, 100, {45, 90}, {5, 3}, {2, 2}, {}, {2, 1}), 8, 16, 1},
      {windows("long lines", 1, 33, {20, 150}, {3, 3}, {2, 2}, {}, {1, 1}), 9, 35},
      {windows("5x5", 3, 32, {11, 33}, {5, 5}, {1, 2}, {}, {2, 2}), 12, 64, 1},
      {windows("dilations", 2, 16, {13, 12}, {3, 3}, {1, 1}, {2, 3}, {2, 3}), 8, 8},
      {windows("steps beyond the window", 4, 20, {16, 16}, {1, 2}, {3, 4}, {}, {0, 0}), 10, 12},
      {uneven, 11, 17, 1},
      {windows("an image", 2, 40, {15, 61}, {3, 3}, {1, 1}, {}, {1, 1}), 3, 16, 2,
       ConvolutionCase{
           "an image", 2, 3, 40, {30, 121}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, 1, true}},
      {windows("an image of one channel", 1, 24, {12, 100}, {5, 3}, {2, 2}, {}, {2, 1}), 1, 9, 1,
       ConvolutionCase{
           "an image of one channel", 1, 1, 24, {14, 102}, {3, 3}, {1, 1}, {}, {}, {}, 1, true}}};
}

struct Setting {
  Layout x = Layout::channels_last;
  bool residual = false;
  FloatBounds bounds{};  // behind the first two
  int threads = 2;
};

void apply(const FloatBounds& bounds, std::vector<double>& values) {
  for (double& value : values) {
    if (value < bounds.least) value = bounds.least;
    if (value > bounds.most) value = bounds.most;
  }
}

// The arrays of a bottleneck, and what a convolution after the other makes of them.
class Bottleneck {
 public:
  Bottleneck(const BottleneckCase& shape, const Setting& setting, std::optional<double> bad = {})
      : shape_(shape),
        setting_(setting),
        x_(DType::f32, shape.expansion().x_dims(), shape.image ? Layout::row_major : setting.x),
        y_(DType::f32, shape.projection().y_dims(), Layout::channels_last),
        residual_(y_) {
    unsigned seed = 1;
    for (const ConvolutionCase& each : convolutions()) {
      weights_.emplace_back(DType::f32, each.w_dims());
      weights_.back().randomize(++seed, 0.5);
      biases_.emplace_back(DType::f32, Dims{each.outputs});
      biases_.back().randomize(++seed);
    }
    x_.randomize(++seed), residual_.randomize(++seed, 2);
    if (bad) x_.set(x_.size() / 2, *bad);
  }

  FloatBottleneck description() {
    FloatBottleneck bottleneck;
    View x = x_.view();
    const std::vector<ConvolutionCase> all = convolutions();
    for (std::size_t i = 0; i < 3; ++i) {
      const View y = channels_last_view(DType::f32, all[i].y_dims());
      FloatStage& stage = bottleneck.stages[i];
      stage = {{x, weights_[i].view(), y, {}}, all[i].window(), {}, true};
      if (all[i].bias) stage.views.bias = biases_[i].view();
      if (i < 2) stage.bounds = setting_.bounds;
      x = y;
    }
    bottleneck.residual = setting_.residual;
    bottleneck.threads = setting_.threads;
    return bottleneck;
  }

  GuardedArray computed() {
    const FloatBottleneck bottleneck = description();
    EXPECT_EQ(float_bottleneck_reason(bottleneck, isa()), "") << shape_.windows.name;
    run(prepare_float_bottleneck(bottleneck),
        {&x_, &weights_[0], &biases_[0], &weights_[1], &biases_[1], &weights_[2], &biases_[2],
         &residual_},
        {&y_});
    return y_;
  }

  std::vector<double> expected() const {
    GuardedArray x = x_;
    std::vector<double> values;
    for (std::size_t i = 0; const ConvolutionCase& each : convolutions()) {
      GuardedArray y(DType::f32, each.y_dims());
      values =
          ConvolutionReference(each, x, weights_[i], y).forward(each.bias ? &biases_[i] : nullptr);
      if (i < 2) apply(setting_.bounds, values);
      for (std::int64_t k = 0; k < y.size(); ++k) y.set(k, values[static_cast<std::size_t>(k)]);
      x = y;
      ++i;
    }
    for (std::size_t i = 0; setting_.residual && i < values.size(); ++i)
      values[i] += residual_.at(static_cast<std::int64_t>(i));
    return values;
  }

 private:
  std::vector<ConvolutionCase> convolutions() const {
    return {shape_.expansion(), shape_.windows, shape_.projection()};
  }

  BottleneckCase shape_;
  Setting setting_;
  GuardedArray x_, y_, residual_;
  std::vector<GuardedArray> weights_, biases_;
};

TEST(float_bottleneck, matches_its_convolutions_one_after_the_other) {
  NG_NEEDS_AVX512();
  for (const BottleneckCase& shape : cases())
    for (const Layout x : {Layout::channels_last, Layout::channel_slice}) {
      Bottleneck bottleneck(shape, {.x = x, .threads = shape.threads});
      expect_within_format(bottleneck.computed(), bottleneck.expected(), shape.windows.name);
    }
}

TEST(float_bottleneck, keeps_bounds_and_adds_a_residual) {
  NG_NEEDS_AVX512();
  for (const BottleneckCase& shape : cases()) {
    Bottleneck bottleneck(shape,
                          {.residual = true, .bounds = {-0.5F, 2.0F}, .threads = shape.threads});
    expect_within_format(bottleneck.computed(), bottleneck.expected(), shape.windows.name);
  }
}

TEST(float_bottleneck, bits_do_not_depend_on_threads) {
  NG_NEEDS_AVX512();
  const BottleneckCase shape{windows("", 2, 40, {28, 14}, {3, 3}, {1, 1}, {}, {1, 1}), 24, 40};
  const GuardedArray one = Bottleneck(shape, {.threads = 1}).computed();
  for (const int threads : {2, 3, 4})
    EXPECT_TRUE(Bottleneck(shape, {.threads = threads}).computed().same_bytes(one)) << threads;
}

TEST(float_bottleneck, nan_reaches_the_results_that_see_it) {
  NG_NEEDS_AVX512();
  const BottleneckCase shape = cases()[1];
  Bottleneck bottleneck(shape, {.bounds = {0.0F, 6.0F}}, std::numeric_limits<double>::quiet_NaN());
  const GuardedArray y = bottleneck.computed();
  const std::vector<double> expected = bottleneck.expected();
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y.at(i)), std::isnan(expected[static_cast<std::size_t>(i)])) << i;
    nans += std::isnan(y.at(i));
  }
  EXPECT_EQ(nans, 4 * shape.outputs);  // the first pixel is under four windows
}

TEST(float_bottleneck, declines_what_it_would_make_slower) {
  NG_NEEDS_AVX512();
  const auto reason = [](const BottleneckCase& shape, int threads) {
    return float_bottleneck_reason(Bottleneck(shape, {.threads = threads}).description(), isa());
  };
  const BottleneckCase small{windows("", 1, 64, {7, 7}, {3, 3}, {1, 1}, {}, {1, 1}), 16, 16};
  EXPECT_EQ(reason(small, 1), "");
  EXPECT_EQ(reason(small, 2), "few lines for each thread, so that many are expanded twice");
  const BottleneckCase large{windows("", 1, 960, {9, 9}, {3, 3}, {1, 1}, {}, {1, 1}), 160, 160};
  EXPECT_EQ(reason(large, 1), "weights that would not stay in L2");
}

}  // namespace
}  // namespace narrowgauge::cpu::float_bottleneck_test
