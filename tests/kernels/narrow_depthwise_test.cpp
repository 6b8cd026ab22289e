// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of bf16 in channels last, with a residual and bounds behind them.
#include "kernels/cpu/depthwise/narrow_depthwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"

namespace narrowgauge::cpu::narrow_depthwise_test {
namespace {

struct Behind {
  bool residual = false, lasting = true;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  DType bias = DType::bf16;
};

class Fixture {
 public:
  explicit Fixture(const ConvolutionCase& shape, const Behind& behind = {},
                   Layout layout = Layout::channels_last, DType dtype = DType::bf16)
      : shape_(shape),
        x_(dtype, shape.x_dims(), layout),
        w_(dtype, shape.w_dims()),
        y_(dtype, shape.y_dims(), layout) {
    x_.randomize(1);
    w_.randomize(2);
    c_.views = {x_.view(), w_.view(), y_.view(), {}};
    c_.window = shape.window();
    if (shape.bias) {
      bias_.emplace(behind.bias, Dims{shape.outputs}).randomize(3);
      c_.views.bias = bias_->view();
    }
    if (behind.residual) {
      residual_.emplace(dtype, shape.y_dims(), layout).randomize(4);
      c_.residual = residual_->view();
    }
    c_.low = behind.low;
    c_.high = behind.high;
    if (behind.lasting) c_.lasting = {bounded_w, bounded_bias};
  }

  std::string reason() const { return narrow_depthwise_reason(c_, isa()); }
  GuardedArray result(int threads = 2) {
    GuardedArray y = y_;
    c_.threads = threads;
    run(prepare_narrow_depthwise(c_),
        {&x_, &w_, bias_ ? &*bias_ : nullptr, residual_ ? &*residual_ : nullptr}, {&y});
    return y;
  }
  std::vector<double> reference() const {
    std::vector<double> y =
        ConvolutionReference(shape_, x_, w_, y_).forward(bias_ ? &*bias_ : nullptr);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (residual_) y[i] += residual_->at(static_cast<std::int64_t>(i));
      if (y[i] < c_.low) y[i] = c_.low;
      if (y[i] > c_.high) y[i] = c_.high;
    }
    return y;
  }
  GuardedArray& x() { return x_; }
  GuardedArray& w() { return w_; }

 private:
  const ConvolutionCase& shape_;
  GuardedArray x_, w_, y_;
  std::optional<GuardedArray> bias_, residual_;
  BoundedConvolution c_;
};

class NarrowDepthwiseTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() < Isa::avx512) GTEST_SKIP() << "needs avx512, this is " << name(isa());
  }
};

TEST_F(NarrowDepthwiseTest, is_exact_products_added_in_f32_and_rounded_once) {
  std::vector<ConvolutionCase> cases = convolution_cases();
  cases.insert(cases.end(), depthwise_cases().begin(), depthwise_cases().end());
  int taken = 0;
  for (const ConvolutionCase& shape : cases) {
    Fixture fixture(shape);
    if (!fixture.reason().empty()) continue;
    ++taken;
    expect_within_format(fixture.result(), fixture.reference(), shape.name);
  }
  EXPECT_GE(taken, 13);
}

TEST_F(NarrowDepthwiseTest, adds_a_residual_and_keeps_to_bounds) {
  for (const Behind& behind :
       {Behind{.low = 0, .high = 6}, Behind{.residual = true, .lasting = false, .low = -1},
        Behind{.residual = true, .high = 2.5, .bias = DType::f32}})
    for (const ConvolutionCase& shape : depthwise_cases()) {
      Fixture fixture(shape, behind);
      expect_within_format(fixture.result(), fixture.reference(), shape.name);
    }
}

TEST_F(NarrowDepthwiseTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& shape : depthwise_cases()) {
    Fixture fixture(shape, {.residual = true, .low = 0});
    const GuardedArray one = fixture.result(1);
    for (const int threads : {2, 5}) {
      const ThreadScope scope(threads);
      EXPECT_TRUE(fixture.result(threads).same_bytes(one)) << shape.name;
    }
  }
}

TEST_F(NarrowDepthwiseTest, nan_and_infinity_reach_what_they_reach_in_exact_arithmetic) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity})
    for (const bool in_weights : {false, true})
      for (const ConvolutionCase& shape : depthwise_cases()) {
        Fixture fixture(shape, {.low = -3, .high = 3});
        (in_weights ? fixture.w() : fixture.x()).set(2, bad);
        const GuardedArray result = fixture.result();
        const std::vector<double> expected = fixture.reference();
        for (std::int64_t i = 0; i < result.size(); ++i) {
          const double exact = expected[static_cast<std::size_t>(i)];
          ASSERT_EQ(std::isnan(result.at(i)), std::isnan(exact)) << shape.name << ' ' << i;
        }
      }
}

TEST(narrow_depthwise_reason, names_what_does_not_fit) {
  const ConvolutionCase &usual = depthwise_cases()[0], &dense = convolution_cases()[0];
  if (isa() < Isa::avx512) {
    EXPECT_NE(Fixture(usual).reason().find("avx512"), std::string::npos);
    return;
  }
  const ConvolutionCase wide{"", 1, 32, 32, {9, 9}, {9, 9}, {}, {}, {}, {}, 32};
  EXPECT_EQ(Fixture(usual).reason(), "");
  EXPECT_EQ(Fixture(dense).reason(), "channels without a window of their own");
  EXPECT_EQ(Fixture(wide).reason(), "windows of 9, strides of 1");
  EXPECT_EQ(Fixture(usual, {}, Layout::row_major).reason(), "images are not channels last");
  EXPECT_EQ(Fixture(usual, {}, Layout::channels_last, DType::f32).reason(),
            "images of f32 and f32");
}

}  // namespace
}  // namespace narrowgauge::cpu::narrow_depthwise_test
