// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the narrow types of kernels: each result is rounded to the type.
#include "narrowgauge/wmma/number.h"

#include <gtest/gtest.h>

#include <limits>

#include "narrowgauge/wmma.hpp"

namespace narrowgauge::test::number_test {
namespace {

namespace wmma = narrowgauge::wmma;
using wmma::bfloat16;
using wmma::half;

TEST(wmma_number, arithmetic_rounds_its_result_to_nearest_even) {
  EXPECT_EQ(static_cast<float>(half(2048) + half(1)), 2048);  // a tie
  EXPECT_EQ(static_cast<float>(half(2048) + half(3)), 2052);  // the other tie
  EXPECT_EQ(static_cast<float>(half(1) - half(0.25F)), 0.75F);
  EXPECT_EQ(static_cast<float>(half(1) / half(3)), 0.333251953125F);
  EXPECT_EQ(static_cast<float>(half(256) * half(256)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(bfloat16(256) + bfloat16(1)), 256);
  EXPECT_EQ(static_cast<float>(bfloat16(1) - bfloat16(0.5F)), 0.5F);
  EXPECT_EQ(static_cast<float>(bfloat16(3) * bfloat16(5)), 15);
  EXPECT_EQ(static_cast<float>(bfloat16(1) / bfloat16(3)), 0.333984375F);
}

TEST(wmma_number, the_sign_changes_of_zero_and_nan_too) {
  EXPECT_EQ(wmma::bits_of(-half(0)), 0x8000);
  EXPECT_EQ(wmma::bits_of(-bfloat16(1)), 0xbf80);
  EXPECT_EQ(wmma::bits_of(-half(std::numeric_limits<double>::quiet_NaN())), 0xffff);
}

TEST(wmma_number, bits_go_in_and_come_out) {
  for (const int number : {0x0000, 0x8001, 0x3c00, 0x7c01, 0xffff}) {
    const auto bits = static_cast<std::uint16_t>(number);
    EXPECT_EQ(wmma::bits_of(wmma::half_from_bits(bits)), bits);
    EXPECT_EQ(wmma::bits_of(wmma::bfloat16_from_bits(bits)), bits);
  }
  EXPECT_EQ(static_cast<float>(wmma::half_from_bits(0x3c01)), 1.0009765625F);
  EXPECT_EQ(static_cast<float>(wmma::bfloat16_from_bits(0x3f81)), 1.0078125F);
}

// Rounded once: over f32 the first would end at the tie below it.
TEST(wmma_number, doubles_are_rounded_once) {
  EXPECT_EQ(wmma::bits_of(half(1 + 0x1p-11 + 0x1p-40)), 0x3c01);
  EXPECT_EQ(wmma::bits_of(bfloat16(1 + 0x1p-8 + 0x1p-40)), 0x3f81);
  EXPECT_EQ(wmma::bits_of(half(2049)), 0x6800);
}

TEST(wmma_number, kernels_know_where_they_run) {
  EXPECT_TRUE(wmma::runs_on_host);
  EXPECT_TRUE(wmma::has_device());
  wmma::sync_warp();
}

}  // namespace
}  // namespace narrowgauge::test::number_test
