// SPDX-License-Identifier: Apache-2.0
// Convolutions of plain images of bf16 with few channels, with bounds behind them.
#include "kernels/cpu/images/narrow_image.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"

namespace narrowgauge::cpu::narrow_image_test {
namespace {

struct Behind {
  bool lasting = true;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  DType bias = DType::bf16;
};

class Fixture {
 public:
  explicit Fixture(const ConvolutionCase& shape, const Behind& behind = {},
                   Layout layout = Layout::row_major, DType dtype = DType::bf16)
      : shape_(shape),
        x_(dtype, shape.x_dims(), layout),
        w_(dtype, shape.w_dims()),
        y_(dtype, shape.y_dims(), Layout::channels_last) {
    x_.randomize(1);
    w_.randomize(2);
    c_.views = {x_.view(), w_.view(), y_.view(), {}};
    c_.window = shape.window();
    if (shape.bias) {
      bias_.emplace(behind.bias, Dims{shape.outputs}).randomize(3);
      c_.views.bias = bias_->view();
    }
    c_.low = behind.low;
    c_.high = behind.high;
    if (behind.lasting) c_.lasting = {bounded_w, bounded_bias};
  }

  std::string reason() const { return narrow_image_reason(c_, isa()); }
  GuardedArray result(int threads = 2) {
    GuardedArray y = y_;
    c_.threads = threads;
    run(prepare_narrow_image(c_), {&x_, &w_, bias_ ? &*bias_ : nullptr}, {&y});
    return y;
  }
  std::vector<double> reference() const {
    std::vector<double> y =
        ConvolutionReference(shape_, x_, w_, y_).forward(bias_ ? &*bias_ : nullptr);
    for (std::size_t i = 0; i < y.size(); ++i) {
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
  std::optional<GuardedArray> bias_;
  BoundedConvolution c_;
};

class NarrowImageTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() < Isa::avx512) GTEST_SKIP() << "needs avx512, this is " << name(isa());
  }
};

TEST_F(NarrowImageTest, is_exact_products_added_in_f32_and_rounded_once) {
  std::vector<ConvolutionCase> cases = convolution_cases();
  cases.insert(cases.end(), image_cases().begin(), image_cases().end());
  int taken = 0;
  for (const ConvolutionCase& shape : cases) {
    Fixture fixture(shape);
    if (!fixture.reason().empty()) continue;
    ++taken;
    expect_within_format(fixture.result(), fixture.reference(), shape.name);
  }
  EXPECT_GE(taken, 7);
}

TEST_F(NarrowImageTest, keeps_to_bounds) {
  for (const Behind& behind : {Behind{.low = 0, .high = 6}, Behind{.lasting = false, .low = -1},
                               Behind{.high = 2.5, .bias = DType::f32}})
    for (const ConvolutionCase& shape : image_cases()) {
      Fixture fixture(shape, behind);
      expect_within_format(fixture.result(), fixture.reference(), shape.name);
    }
}

TEST_F(NarrowImageTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& shape : image_cases()) {
    Fixture fixture(shape, {.low = 0});
    const GuardedArray one = fixture.result(1);
    for (const int threads : {2, 5}) {
      const ThreadScope scope(threads);
      EXPECT_TRUE(fixture.result(threads).same_bytes(one)) << shape.name;
    }
  }
}

TEST_F(NarrowImageTest, nan_and_infinity_in_images_reach_what_they_reach_in_exact_arithmetic) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity})
    for (const ConvolutionCase& shape : image_cases()) {
      Fixture fixture(shape, {.low = -3, .high = 3});
      fixture.x().set(2, bad);
      const GuardedArray result = fixture.result();
      const std::vector<double> expected = fixture.reference();
      for (std::int64_t i = 0; i < result.size(); ++i) {
        const double exact = expected[static_cast<std::size_t>(i)];
        ASSERT_EQ(std::isnan(result.at(i)), std::isnan(exact)) << shape.name << ' ' << i;
      }
    }
}

TEST(narrow_image_reason, names_what_does_not_fit) {
  const ConvolutionCase &usual = image_cases()[0], &dense = convolution_cases()[0];
  if (isa() < Isa::avx512) {
    EXPECT_NE(Fixture(usual).reason().find("avx512"), std::string::npos);
    return;
  }
  EXPECT_EQ(Fixture(usual).reason(), "");
  EXPECT_EQ(Fixture(dense).reason(), "16 channels");
  EXPECT_EQ(Fixture(usual, {}, Layout::channels_last).reason(), "x is not plain");
  EXPECT_EQ(Fixture(usual, {}, Layout::row_major, DType::f32).reason(), "images of f32 and f32");
}

}  // namespace
}  // namespace narrowgauge::cpu::narrow_image_test
