// SPDX-License-Identifier: Apache-2.0
// Errors in units in the last place, of numbers whose distances are known.
#include "narrowgauge/ulp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "narrowgauge/error.h"

namespace narrowgauge::ulp_test {
namespace {

Tensor numbers(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>({size}, values);
}

TEST(ulp, counts_differences_by_size_and_direction) {
  const float ulp = 0x1p-23F;
  const UlpStatistics found =
      ulp_between(numbers({1, 1 + ulp, 1 - 3 * ulp, -1 - 10 * ulp}), numbers({1, 1, 1, -1}));
  EXPECT_EQ(found.count, 4);
  EXPECT_EQ(found.equal, 1);
  EXPECT_EQ(found.below, 2);
  EXPECT_EQ(found.above, 1);
  EXPECT_EQ(found.nearer_zero, 1);
  EXPECT_EQ(found.largest, 10);
  EXPECT_EQ(found.largest_at, 3);
  EXPECT_EQ(found.mean, (1.0 + 3 + 10) / 4);
  EXPECT_EQ(found.drift, (1.0 - 3 + 10) / 4);
  EXPECT_EQ(found.histogram[equal_place], 1);
  EXPECT_EQ(found.histogram[equal_place + 1], 1);  // up to 1
  EXPECT_EQ(found.histogram[equal_place - 3], 1);  // 2 to 4, towards zero
  EXPECT_EQ(found.histogram[equal_place + 4], 1);  // 4 to 16
}

TEST(ulp, is_that_of_the_narrower_format) {
  const Tensor narrow = numbers({1.0F + 0x1p-10F}).cast(DType::f16);
  EXPECT_EQ(ulp_between(narrow, numbers({1})).largest, 1);
  EXPECT_EQ(ulp_between(numbers({1}), narrow).largest, 1);
}

TEST(ulp, leaves_out_what_is_not_finite) {
  const float infinite = std::numeric_limits<float>::infinity();
  const UlpStatistics found =
      ulp_between(numbers({infinite, infinite, 1, 1}), numbers({infinite, 1, infinite, 1}));
  EXPECT_EQ(found.both_not_finite, 1);
  EXPECT_EQ(found.one_not_finite, 2);
  EXPECT_EQ(found.equal, 1);
  EXPECT_EQ(found.largest, 0);
}

// 2^24 + 1 - 2^24 is 1; f32 loses it at once.
TEST(ulp, the_exact_product_keeps_what_sums_in_f32_lose) {
  const Tensor a = Tensor::from<float>({1, 3}, std::vector<float>{0x1p24F, 1, -0x1p24F});
  const Tensor b = Tensor::from<float>({3, 1}, std::vector<float>{1, 1, 1});
  const ExactProduct exact = exact_product(a, b);
  EXPECT_EQ(exact.high, std::vector<double>{1});
  EXPECT_EQ(exact.magnitude, std::vector<double>{0x1p25 + 1});
  const UlpStatistics found =
      ulp_against(Tensor::from<float>({1, 1}, std::vector<float>{0}), exact);
  EXPECT_EQ(found.largest, 0x1p23);  // 1 in ulp of 1
  EXPECT_EQ(found.relative, 1 / (0x1p25 + 1));
}

TEST(ulp, products_of_several_matrices_stand_one_after_another) {
  const Tensor a = Tensor::from<float>({2, 1, 1}, std::vector<float>{2, 3});
  const Tensor b = Tensor::from<float>({2, 1, 1}, std::vector<float>{5, 7});
  const Tensor c = Tensor::from<float>({2, 1, 1}, std::vector<float>{1, 100});
  EXPECT_EQ(exact_product(a, b, &c).high, (std::vector<double>{11, 121}));
  const Tensor other = Tensor::from<float>({2}, std::vector<float>{1, 100});
  EXPECT_THROW(exact_product(a, b, &other), UsageError);
}

}  // namespace
}  // namespace narrowgauge::ulp_test
