// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_convolution.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/machine/cpu.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"

namespace narrowgauge::cpu::float_convolution_test {
namespace {

#define NG_NEEDS_AVX512() \
  if (isa() < Isa::avx512) GTEST_SKIP() << "this CPU has no AVX-512"

bool is_taken(const ConvolutionCase& shape) {
  const bool depthwise =
      shape.groups == shape.channels && shape.groups == shape.outputs && shape.size.size() == 2;
  return shape.channels >= 8 && (shape.groups == 1 || depthwise);
}

// Whether the case is an image of few channels, which lie apart.
bool is_image(const ConvolutionCase& shape) { return shape.channels <= 4; }

// Cases beside those of all convolutions: each number of rows and columns that is left over, panels
// of three and two vectors, turns of several blocks, and weights that threads share out.
std::vector<ConvolutionCase> cases() {
  std::vector<ConvolutionCase> cases;
  for (const ConvolutionCase& shape : convolution_cases())
    if (is_taken(shape)) cases.push_back(shape);
  cases.push_back({"several images in a block", 5, 24, 40, {3, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}});
  cases.push_back({"many weights", 1, 192, 208, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true});
  cases.push_back({"1x1 in turns", 2, 64, 96, {16, 16}, {1, 1}, {}, {}, {}, {}, 1, true});
  for (const std::int64_t outputs : {40, 72, 100, 144})
    cases.push_back(
        {"panels of 48 and 32", 2, 16, outputs, {7, 9}, {1, 1}, {}, {}, {}, {}, 1, true});
  cases.push_back({"one pixel", 1, 96, 64, {1, 1}, {1, 1}, {}, {}, {}, {}, 1, true});
  cases.push_back(
      {"depthwise, 5x5", 2, 40, 40, {11, 19}, {5, 5}, {2, 1}, {}, {2, 2}, {2, 2}, 40, true});
  cases.push_back({"depthwise, window beyond the image",
                   1,
                   24,
                   24,
                   {2, 3},
                   {3, 3},
                   {},
                   {2, 2},
                   {3, 4},
                   {3, 3},
                   24});
  cases.push_back({"image, 7x7", 2, 3, 64, {17, 51}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}, 1, true});
  cases.push_back({"image of one channel", 3, 1, 9, {5, 33}, {3, 3}, {}, {}, {1, 1}, {1, 1}});
  cases.push_back(
      {"image in large steps", 1, 4, 50, {19, 70}, {5, 3}, {4, 4}, {}, {}, {}, 1, true});
  cases.push_back(
      {"image under wide padding", 1, 2, 16, {2, 3}, {2, 5}, {1, 2}, {}, {3, 9}, {2, 4}});
  for (std::int64_t rows = 2; rows < 14; ++rows)
    cases.push_back({"few rows", 1, 16, 2 * rows + 7, {rows}, {1}});
  return cases;
}

struct Setting {
  Layout x = Layout::channels_last;
  bool residual = false;
  bool in_place = false;  // of the residual
  FloatBounds bounds{};
  int threads = 2;
  Finish finish{};
};

struct Convolved {
  GuardedArray y;
  std::vector<double> expected;
};

// `bad` is set in the middle of x.
Convolved convolve(const ConvolutionCase& shape, const Setting& setting,
                   std::optional<double> bad = {}) {
  GuardedArray x(DType::f32, shape.x_dims(), is_image(shape) ? Layout::row_major : setting.x),
      w(DType::f32, shape.w_dims());
  GuardedArray y(DType::f32, shape.y_dims(), Layout::channels_last);
  GuardedArray residual = y, bias(DType::f32, {shape.outputs});
  x.randomize(1), w.randomize(2, 0.5), residual.randomize(3, 2), bias.randomize(4);
  if (bad) x.set(x.size() / 2, *bad);
  ConvolutionViews views{x.view(), w.view(), y.view(), {}};
  if (shape.bias) views.bias = bias.view();
  EXPECT_EQ(float_convolution_reason(views, shape.window(), {1}, isa()), "") << shape.name;
  const Prepared prepared =
      prepare_float_convolution(views, shape.window(), {setting.residual ? 3 : -1, setting.bounds},
                                {.threads = setting.threads, .finish = setting.finish});
  if (setting.in_place) y = residual;
  run(prepared, {&x, &w, &bias, setting.in_place ? &y : &residual}, {&y});
  std::vector<double> expected =
      ConvolutionReference(shape, x, w, y).forward(shape.bias ? &bias : nullptr);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (setting.residual) expected[i] += residual.at(static_cast<std::int64_t>(i));
    if (expected[i] < setting.bounds.least) expected[i] = setting.bounds.least;
    if (expected[i] > setting.bounds.most) expected[i] = setting.bounds.most;
  }
  return {y, expected};
}

TEST(float_convolution, matches_the_reference) {
  NG_NEEDS_AVX512();
  for (const ConvolutionCase& shape : cases())
    for (const Layout x : {Layout::channels_last, Layout::channel_slice}) {
      const Convolved done = convolve(shape, {.x = x});
      expect_within_format(done.y, done.expected, shape.name);
    }
}

// Results are stored past the caches where y begins at a line of cache.
TEST(float_convolution, stores_large_results_past_the_caches_with_the_same_bits) {
  NG_NEEDS_AVX512();
  const ConvolutionCase shape{"", 1, 8, 128, {256, 256}, {1, 1}};
  GuardedArray x(DType::f32, shape.x_dims(), Layout::channels_last), w(DType::f32, shape.w_dims());
  x.randomize(1), w.randomize(2, 0.5);
  const View y = channels_last_view(DType::f32, shape.y_dims());
  const Prepared prepared =
      prepare_float_convolution({x.view(), w.view(), y, {}}, shape.window(), {}, {.threads = 2});
  const std::int64_t bytes = bytes_for(element_count(y.dims), DType::f32);
  AlignedBytes past(bytes), through(bytes + 4);
  run_into(prepared, {&x, &w}, {past.data()});
  run_into(prepared, {&x, &w}, {through.data() + 4});
  EXPECT_TRUE(std::equal(past.data(), past.data() + bytes, through.data() + 4));
  EXPECT_TRUE(past.guard_intact());
}

TEST(float_convolution, adds_a_residual_and_keeps_bounds) {
  NG_NEEDS_AVX512();
  for (const ConvolutionCase& shape : cases()) {
    const Convolved sum = convolve(shape, {.residual = true});
    expect_within_format(sum.y, sum.expected, shape.name);
    const Convolved relu = convolve(shape, {.bounds = {.least = 0}});
    expect_within_format(relu.y, relu.expected, shape.name);
    const Convolved both = convolve(shape, {.residual = true, .bounds = {-12, 20}});
    expect_within_format(both.y, both.expected, shape.name);
  }
}

TEST(float_convolution, results_may_take_the_place_of_the_residual) {
  NG_NEEDS_AVX512();
  for (const ConvolutionCase& shape : cases()) {
    const GuardedArray apart = convolve(shape, {.residual = true}).y;
    EXPECT_TRUE(apart.same_bytes(convolve(shape, {.residual = true, .in_place = true}).y))
        << shape.name;
  }
}

// Every element once, by the threads that store them or behind all of them.
TEST(float_convolution, finishes_what_is_stored) {
  NG_NEEDS_AVX512();
  const Finish negate = [](const Call& call, std::int64_t begin, std::int64_t end) {
    auto* const y = static_cast<float*>(call.outputs[0]);
    for (std::int64_t i = begin; i < end; ++i) y[i] = -y[i];
  };
  for (const ConvolutionCase& shape : cases()) {
    Convolved done = convolve(shape, {.finish = negate});
    for (double& value : done.expected) value = -value;
    expect_within_format(done.y, done.expected, shape.name);
  }
}

TEST(float_convolution, gives_the_same_bits_for_any_number_of_threads) {
  NG_NEEDS_AVX512();
  for (const ConvolutionCase& shape : cases()) {
    const GuardedArray one = convolve(shape, {.residual = true, .threads = 1}).y;
    for (const int threads : {2, 5})
      EXPECT_TRUE(one.same_bytes(convolve(shape, {.residual = true, .threads = threads}).y))
          << shape.name << ' ' << threads;
  }
}

TEST(float_convolution, what_is_not_finite_reaches_its_windows_and_passes_bounds) {
  NG_NEEDS_AVX512();
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const ConvolutionCase& shape : cases()) {
      const Convolved done = convolve(shape, {.bounds = {0, 6}}, bad);
      const std::vector<double> got = done.y.values();
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(std::isnan(got[i]), std::isnan(done.expected[i])) << shape.name << " at " << i;
    }
}

TEST(float_convolution, says_what_it_does_not_take) {
  const ConvolutionCase shape{"", 1, 16, 16, {4, 4}, {3, 3}};
  const View x = channels_last_view(DType::f32, shape.x_dims()),
             w = dense_view(DType::f32, shape.w_dims()),
             y = channels_last_view(DType::f32, shape.y_dims());
  const auto reason = [&](const ConvolutionViews& views, const std::vector<int>& lasting, Isa isa) {
    return float_convolution_reason(views, shape.window(), lasting, isa);
  };
  EXPECT_EQ(reason({x, w, y, {}}, {1}, Isa::avx512), "");
  EXPECT_NE(reason({x, w, y, {}}, {1}, Isa::avx2), "");
  EXPECT_NE(reason({x, w, y, {}}, {0, 2}, Isa::avx512), "");
  EXPECT_NE(reason({dense_view(DType::f32, x.dims), w, y, {}}, {1}, Isa::avx512), "");
  EXPECT_NE(reason({x, w, dense_view(DType::f32, y.dims), {}}, {1}, Isa::avx512), "");
  EXPECT_NE(reason({channels_last_view(DType::bf16, x.dims), w, y, {}}, {1}, Isa::avx512), "");
}

TEST(float_convolution, takes_images_of_few_channels_as_they_are) {
  ConvolutionCase shape{"", 1, 3, 16, {9, 9}, {3, 3}, {2, 2}};
  const View x = dense_view(DType::f32, shape.x_dims()), w = dense_view(DType::f32, shape.w_dims()),
             y = channels_last_view(DType::f32, shape.y_dims());
  const auto reason = [&](const View& images) {
    return float_convolution_reason({images, w, y, {}}, shape.window(), {1}, Isa::avx512);
  };
  EXPECT_EQ(reason(x), "");
  EXPECT_NE(reason(channels_last_view(DType::f32, shape.x_dims())), "");
  shape.strides = {3, 3};
  EXPECT_NE(reason(x), "");
}

}  // namespace
}  // namespace narrowgauge::cpu::float_convolution_test
