// SPDX-License-Identifier: Apache-2.0
// Convolutions of bf16 images in channels last on the tiles of AMX.
#include <gtest/gtest.h>

#include <limits>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/tiles/pixel_weight_gradient.h"

namespace narrowgauge::cpu::pixel_convolution_test {
namespace {

// Cases beside those of all convolutions.
const std::vector<ConvolutionCase>& larger_cases() {
  static const std::vector<ConvolutionCase> list = {
      {"bands of rows", 2, 32, 64, {40, 37}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"bands, stride 2", 1, 64, 32, {41, 30}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"units of some images", 9, 32, 32, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"wide 1x1", 3, 48, 80, {14, 14}, {1, 1}},
      {"large sums", 5, 352, 336, {5, 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"large sums, many units", 3, 352, 336, {26, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
  };
  return list;
}

class Fixture {
 public:
  explicit Fixture(const ConvolutionCase& shape, Layout x = Layout::channels_last,
                   Layout y = Layout::channels_last, DType dw = DType::bf16)
      : shape_(shape),
        x_(DType::bf16, shape.x_dims(), x),
        y_(DType::bf16, shape.y_dims(), y),
        w_(dw, shape.w_dims()) {
    x_.randomize(1);
    y_.randomize(3);
  }
  std::string reason() const {
    return pixel_weight_gradient_reason(views(), shape_.window(), isa());
  }
  GuardedArray result() const {
    GuardedArray dw = w_;
    run(prepare_pixel_weight_gradient(views(), shape_.window(), {}), {&x_, &y_}, {&dw});
    return dw;
  }
  std::vector<double> reference() const {
    return ConvolutionReference(shape_, x_, w_, y_).weight_gradient();
  }
  GuardedArray& x() { return x_; }
  GuardedArray& y() { return y_; }

 private:
  ConvolutionViews views() const { return {x_.view(), w_.view(), y_.view(), {}}; }

  const ConvolutionCase& shape_;
  GuardedArray x_, y_, w_;
};

class PixelWeightGradientTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() != Isa::amx) GTEST_SKIP() << "needs amx, this is " << name(isa());
  }
};

TEST_F(PixelWeightGradientTest, is_exact_products_added_in_f32_and_rounded_once_for_any_shape) {
  std::vector<ConvolutionCase> all = convolution_cases();
  all.insert(all.end(), larger_cases().begin(), larger_cases().end());
  int taken = 0;
  for (const ConvolutionCase& shape : all) {
    const Fixture fixture(shape);
    if (!fixture.reason().empty()) continue;
    ++taken;
    expect_within_format(fixture.result(), fixture.reference(), shape.name);
  }
  EXPECT_GE(taken, 20);
}

TEST_F(PixelWeightGradientTest, reads_slices_of_channels_and_stores_f32) {
  const ConvolutionCase& shape = larger_cases()[0];
  const Fixture fixture(shape, Layout::channel_slice, Layout::channel_slice, DType::f32);
  expect_within_format(fixture.result(), fixture.reference(), shape.name);
}

TEST_F(PixelWeightGradientTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& shape : larger_cases()) {
    const Fixture fixture(shape, Layout::channels_last, Layout::channels_last, DType::f32);
    const GuardedArray many = fixture.result();
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      EXPECT_TRUE(fixture.result().same_bytes(many)) << shape.name << ", " << threads << " threads";
    }
  }
}

TEST_F(PixelWeightGradientTest, what_a_nan_or_infinity_reaches_is_not_finite) {
  const ConvolutionCase& shape = larger_cases()[2];
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Fixture fixture(shape);
    fixture.x().set(777, bad);
    fixture.y().set(333, bad);
    const GuardedArray result = fixture.result();
    const std::vector<double> expected = fixture.reference();
    const std::int64_t channel = 777 / 49 % 32, output = 333 / 49 % 32;
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const bool reached = !std::isfinite(expected[static_cast<std::size_t>(i)]);
      const bool touched = i / 9 % 32 == channel || i / 9 / 32 == output;
      ASSERT_TRUE(!reached || !std::isfinite(result.at(i))) << i;
      ASSERT_TRUE(touched || std::isfinite(result.at(i))) << i;
    }
  }
}

TEST(pixel_weight_gradient_reason, names_what_does_not_fit) {
  const ConvolutionCase usual{"", 2, 32, 32, {4, 4}, {3, 3}};
  if (isa() != Isa::amx) {
    EXPECT_NE(Fixture(usual).reason().find("amx"), std::string::npos);
    return;
  }
  const ConvolutionCase groups{"", 2, 64, 64, {4, 4}, {3, 3}, {}, {}, {}, {}, 2};
  const ConvolutionCase colours{"", 2, 3, 32, {4, 4}, {3, 3}};
  EXPECT_NE(Fixture(groups).reason().find("2 groups"), std::string::npos);
  EXPECT_NE(Fixture(colours).reason().find("3 channels"), std::string::npos);
  EXPECT_NE(Fixture(usual, Layout::row_major).reason().find("channels last"), std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::cpu::pixel_convolution_test
