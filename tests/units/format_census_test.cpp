// SPDX-License-Identifier: Apache-2.0
// What formats make of a handful of numbers whose fate is known.
#include "narrowgauge/format_census.h"

#include <gtest/gtest.h>

namespace narrowgauge::format_census_test {
namespace {

Tensor numbers(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>({size}, values);
}

TEST(format_census, counts_the_fates_of_all_tensors) {
  FormatCensus census({find_number_format("f16"), find_number_format("bf16")});
  census.add(numbers({1, 0.1F, 1e-9F, 1e6F}));
  census.add(numbers({2, 0}));
  EXPECT_EQ(census.values(), 6);
  EXPECT_EQ(census.histogram().zeros, 1);
  EXPECT_EQ(census.histogram().at(0), 1);
  EXPECT_EQ(census.histogram().at(1), 1);
  const FormatFates &f16 = census.rows().at(0), &bf16 = census.rows().at(1);
  EXPECT_EQ(f16.format, "f16");
  EXPECT_EQ(f16.of(Fate::exact), 3);
  EXPECT_EQ(f16.of(Fate::rounded), 1);
  EXPECT_EQ(f16.of(Fate::flushed), 1);
  EXPECT_EQ(f16.too_large(), 1);
  EXPECT_EQ(bf16.of(Fate::rounded), 3);
  EXPECT_EQ(bf16.too_large(), 0);
}

TEST(format_census, a_scale_moves_the_values) {
  FormatCensus census({find_number_format("f16")});
  census.add(numbers({0x1p-26F, 0x1p-27F}), 4);
  EXPECT_EQ(census.rows().at(0).of(Fate::exact), 1);
  EXPECT_EQ(census.rows().at(0).of(Fate::flushed), 1);
  EXPECT_EQ(census.histogram().at(-24), 1);
}

// 6 of four bits, times the power of two of each row: 1 beside 6 stays, beside 600 it is lost.
TEST(format_census, block_formats_see_rows) {
  FormatCensus census({}, block_formats());
  census.add(Tensor::from<float>({2, 2}, std::vector<float>{6, 1, 768, 1}));
  for (const FormatFates& row : census.rows()) {
    EXPECT_TRUE(row.blocks);
    if (row.format != "mxfp4") continue;
    EXPECT_EQ(row.of(Fate::exact), 3);
    EXPECT_EQ(row.of(Fate::flushed), 1);
  }
}

// The largest value of each tensor becomes 127 in i8.
TEST(format_census, integers_are_scaled_for_each_tensor) {
  FormatCensus census({find_number_format("i8")});
  census.add(numbers({254, 2, 0.4F}));
  census.add(numbers({127, 1}));
  EXPECT_EQ(census.rows().at(0).of(Fate::exact), 4);
  EXPECT_EQ(census.rows().at(0).of(Fate::flushed), 1);
}

}  // namespace
}  // namespace narrowgauge::format_census_test
