// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduce/column_sums.h"

#include "base/threads/parallel.h"
#include "kernels/each_isa.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::column_sums_test {
namespace {

constexpr RowLayout layouts[] = {{0, 5},    {1, 1},   {1, 17},    {3, 16},  {127, 8},
                                 {128, 33}, {129, 1}, {300, 100}, {40, 700}};

Tensor sums_of(const RowLayout& layout, const Tensor& x) {
  Tensor sums = Tensor::full(DType::f32, {layout.columns}, -1);
  auto space = workspace(column_sums_workspace(layout));
  column_sums(layout, view(x), view(sums), space.data());
  return sums;
}

// 128 rows at a time are added up in f32, these sums in f64.
TEST(column_sums, are_those_of_each_column) {
  constexpr double relative = 128 * 0x1p-24;
  for (const RowLayout& layout : layouts)
    for (const DType dtype : storage_dtypes) {
      const Tensor x = random_tensor(dtype, layout.rows * layout.columns, 3, 0.5);
      const Tensor sums = sums_of(layout, x);
      for (std::int64_t j = 0; j < layout.columns; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t i = 0; i < layout.rows; ++i) {
          const double value = x.at(i * layout.columns + j);
          sum += value;
          size += std::abs(value);
        }
        ASSERT_NEAR(sums.at(j), sum, relative * size)
            << layout.rows << " x " << layout.columns << ' ' << name(dtype) << ", column " << j;
      }
    }
}

TEST(column_sums, bits_do_not_depend_on_threads) {
  const RowLayout layout{1000, 70};
  const Tensor x = random_tensor(DType::bf16, layout.rows * layout.columns, 4);
  const ThreadScope alone(1);
  const std::vector<double> expected = doubles(sums_of(layout, x));
  const ThreadScope three(3);
  EXPECT_EQ(doubles(sums_of(layout, x)), expected);
}

TEST(column_sums_of_each_isa, are_right) { expect_tests_pass_under_each_isa("column_sums.*"); }

}  // namespace
}  // namespace narrowgauge::cpu::column_sums_test
