// SPDX-License-Identifier: Apache-2.0
// Operands and shapes of simulated products.
#include "narrowgauge/simulate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace narrowgauge::simulate_test {
namespace {

TEST(simulate, a_vector_is_a_row_before_a_product_and_a_column_behind_it) {
  EXPECT_EQ(product_dims({2, 3}, {3, 4}), (Dims{2, 4}));
  EXPECT_EQ(product_dims({3}, {3, 4}), Dims{4});
  EXPECT_EQ(product_dims({2, 3}, {3}), Dims{2});
  EXPECT_EQ(product_dims({3}, {3}), Dims{});
  EXPECT_EQ(product_dims({5, 2, 3}, {3, 4}), (Dims{5, 2, 4}));
  EXPECT_EQ(product_dims({5, 2, 3}, {5, 3, 4}), (Dims{5, 2, 4}));
  EXPECT_THROW(product_dims({2, 3}, {4, 3}), UsageError);
  EXPECT_THROW(product_dims({5, 2, 3}, {6, 3, 4}), UsageError);
  EXPECT_THROW(product_dims({}, {3}), UsageError);
}

TEST(simulate, elements_of_a_format_lie_in_a_dtype) {
  EXPECT_EQ(element_dtype(UnitFormat::tf32), DType::f32);
  EXPECT_EQ(element_dtype(UnitFormat::f8e4m3), DType::f8e4m3fn);
  EXPECT_EQ(element_dtype(UnitFormat::s4), DType::i8);
  EXPECT_EQ(element_dtype(UnitFormat::b1), DType::u8);
  EXPECT_THROW(element_dtype(UnitFormat::mxf4), UsageError);
}

// 3.14 loses least, 1e-9 and 1e6 all: the first of these is the example.
TEST(simulate, rounding_counts_what_it_changes) {
  const Tensor x = Tensor::from<float>({6}, std::vector<float>{1, 3.14F, 1e-9F, 1e6F, NAN, 0});
  const RoundedOperand rounded = round_operand(x, UnitFormat::f16);
  EXPECT_EQ(rounded.values.dtype(), DType::f16);
  EXPECT_EQ(rounded.changed, 3);
  EXPECT_EQ(rounded.overflowed, 1);
  EXPECT_EQ(rounded.flushed, 1);
  EXPECT_EQ(rounded.example, 3);
  EXPECT_EQ(round_operand(x, UnitFormat::f32).changed, 0);
  EXPECT_EQ(round_operand(x, UnitFormat::f32).example, -1);
}

TEST(simulate, tf32_is_rounded_as_libraries_do_or_cut_as_the_unit_does) {
  const float between = 1 + 0x1p-10F * 0.75F;
  const Tensor x = Tensor::from<float>({1}, std::vector<float>{between});
  EXPECT_EQ(round_operand(x, UnitFormat::tf32).values.at(0), 1 + 0x1p-10);
  EXPECT_EQ(round_operand(x, UnitFormat::tf32, Tf32Rounding::truncate).values.at(0), 1);
}

TEST(simulate, integers_that_do_not_fit_are_refused) {
  const Tensor x = Tensor::from<float>({2}, std::vector<float>{7, 8});
  EXPECT_EQ(round_operand(x, UnitFormat::u4).values.at(1), 8);
  EXPECT_THROW(round_operand(x, UnitFormat::s4), UsageError);
}

TEST(simulate, c_is_added_and_must_have_the_shape_of_the_result) {
  const UnitModel& unit = *find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32);
  const Tensor a = Tensor::full(DType::f32, {2, 3}, 2), b = Tensor::full(DType::f32, {3, 4}, 5);
  const Tensor c = Tensor::full(DType::f32, {2, 4}, 1);
  const Tensor d = simulate_product(unit, a, b, &c);
  EXPECT_EQ(d.dims(), (Dims{2, 4}));
  for (std::int64_t i = 0; i < d.size(); ++i) EXPECT_EQ(d.at(i), 31);
  EXPECT_EQ(simulate_product(unit, a, b).at(0), 30);
  EXPECT_THROW(simulate_product(unit, a, b, &a), UsageError);
}

}  // namespace
}  // namespace narrowgauge::simulate_test
