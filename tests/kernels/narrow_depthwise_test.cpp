// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of bf16 in channels last, with a residual and bounds behind them.
#include "kernels/cpu/depthwise/narrow_depthwise.h"

#include "kernels/bounded_case.h"

namespace narrowgauge::cpu::narrow_depthwise_test {
namespace {

constexpr BoundedUnderTest kernel{narrow_depthwise_reason, prepare_narrow_depthwise,
                                  Layout::channels_last};

class NarrowDepthwiseTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() < Isa::avx512) GTEST_SKIP() << "needs avx512, this is " << name(isa());
  }
};

TEST_F(NarrowDepthwiseTest, is_exact_products_added_in_f32_and_rounded_once) {
  expect_exact_sums(kernel, depthwise_cases(), 13);
}

TEST_F(NarrowDepthwiseTest, adds_a_residual_and_keeps_to_bounds) {
  for (const Behind& behind :
       {Behind{.low = 0, .high = 6}, Behind{.residual = true, .lasting = false, .low = -1},
        Behind{.residual = true, .high = 2.5, .bias = DType::f32}})
    for (const ConvolutionCase& shape : depthwise_cases()) expect_exact_sums(kernel, shape, behind);
}

TEST_F(NarrowDepthwiseTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& shape : depthwise_cases())
    expect_bits_of_any_threads(kernel, shape, {.residual = true, .low = 0});
}

TEST_F(NarrowDepthwiseTest, nan_and_infinity_reach_what_they_reach_in_exact_arithmetic) {
  for (const bool in_weights : {false, true})
    for (const ConvolutionCase& shape : depthwise_cases())
      expect_nan_as_exact(kernel, shape, in_weights);
}

TEST(narrow_depthwise_reason, names_what_does_not_fit) {
  const auto reason = [](const ConvolutionCase& shape, Layout layout = Layout::channels_last,
                         DType dtype = DType::bf16) {
    return BoundedCase({kernel.reason, kernel.prepare, layout}, shape, {}, dtype).reason();
  };
  const ConvolutionCase &usual = depthwise_cases()[0], &dense = convolution_cases()[0];
  if (isa() < Isa::avx512) {
    EXPECT_NE(reason(usual).find("avx512"), std::string::npos);
    return;
  }
  const ConvolutionCase wide{"", 1, 32, 32, {9, 9}, {9, 9}, {}, {}, {}, {}, 32};
  EXPECT_EQ(reason(usual), "");
  EXPECT_EQ(reason(dense), "channels without a window of their own");
  EXPECT_EQ(reason(wide), "windows of 9, strides of 1");
  EXPECT_EQ(reason(usual, Layout::row_major), "images are not channels last");
  EXPECT_EQ(reason(usual, Layout::channels_last, DType::f32), "images of f32 and f32");
}

}  // namespace
}  // namespace narrowgauge::cpu::narrow_depthwise_test
