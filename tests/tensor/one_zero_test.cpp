// SPDX-License-Identifier: Apache-2.0
// f8e4m3fnuz and f8e5m2fnuz: one zero, and one NaN in the place of the negative one.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor/values.h"

namespace narrowgauge::one_zero_test {
namespace {

template <class T>
void expect_one_zero_and_one_nan() {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(widen(T{0})), 0U);
  EXPECT_TRUE(std::isnan(widen(T{0x80})));
  EXPECT_EQ(narrow<T>(-0.0F).bits, 0);
  EXPECT_EQ(narrow<T>(-0.0).bits, 0);
  EXPECT_EQ(narrow_stochastic<T>(-0.0F, 0).bits, 0);
  EXPECT_EQ(narrow<T>(-1e-30F).bits, 0);
  for (const float none : {NAN, -NAN, HUGE_VALF, -HUGE_VALF, 1e30F, -1e30F}) {
    EXPECT_EQ(narrow<T>(none).bits, 0x80) << none;
    EXPECT_EQ(narrow<T>(double{none}).bits, 0x80) << none;
    EXPECT_EQ(narrow_stochastic<T>(none, 0).bits, 0x80) << none;
  }
  EXPECT_EQ(narrow<T>(std::bit_cast<float>(0xffbfffffU)).bits, 0x80);
}

TEST(narrow_fnuz, has_one_zero_and_one_nan) {
  expect_one_zero_and_one_nan<f8e4m3fnuz>();
  expect_one_zero_and_one_nan<f8e5m2fnuz>();
}

}  // namespace
}  // namespace narrowgauge::one_zero_test
