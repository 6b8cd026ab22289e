// SPDX-License-Identifier: Apache-2.0
// Convolutions of plain images of bf16 with few channels, with bounds behind them.
#include "kernels/cpu/images/narrow_image.h"

#include "kernels/bounded_case.h"

namespace narrowgauge::cpu::narrow_image_test {
namespace {

constexpr BoundedUnderTest kernel{narrow_image_reason, prepare_narrow_image, Layout::row_major};

class NarrowImageTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() < Isa::avx512) GTEST_SKIP() << "needs avx512, this is " << name(isa());
  }
};

TEST_F(NarrowImageTest, is_exact_products_added_in_f32_and_rounded_once) {
  expect_exact_sums(kernel, image_cases(), 7);
}

TEST_F(NarrowImageTest, keeps_to_bounds) {
  for (const Behind& behind : {Behind{.low = 0, .high = 6}, Behind{.lasting = false, .low = -1},
                               Behind{.high = 2.5, .bias = DType::f32}})
    for (const ConvolutionCase& shape : image_cases()) expect_exact_sums(kernel, shape, behind);
}

TEST_F(NarrowImageTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& shape : image_cases())
    expect_bits_of_any_threads(kernel, shape, {.low = 0});
}

TEST_F(NarrowImageTest, nan_and_infinity_in_images_reach_what_they_reach_in_exact_arithmetic) {
  for (const ConvolutionCase& shape : image_cases()) expect_nan_as_exact(kernel, shape, false);
}

TEST(narrow_image_reason, names_what_does_not_fit) {
  const auto reason = [](const ConvolutionCase& shape, Layout layout = Layout::row_major,
                         DType dtype = DType::bf16) {
    return BoundedCase({kernel.reason, kernel.prepare, layout}, shape, {}, dtype).reason();
  };
  const ConvolutionCase &usual = image_cases()[0], &dense = convolution_cases()[0];
  if (isa() < Isa::avx512) {
    EXPECT_NE(reason(usual).find("avx512"), std::string::npos);
    return;
  }
  EXPECT_EQ(reason(usual), "");
  EXPECT_EQ(reason(dense), "16 channels");
  EXPECT_EQ(reason(usual, Layout::channels_last), "x is not plain");
  EXPECT_EQ(reason(usual, Layout::row_major, DType::f32), "images of f32 and f32");
}

}  // namespace
}  // namespace narrowgauge::cpu::narrow_image_test
