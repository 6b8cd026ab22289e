// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/row_product.h"

#include <limits>

#include "base/threads/parallel.h"
#include "kernels/matrix.h"

namespace narrowgauge::cpu::row_product_test {
namespace {

struct Case {
  std::int64_t rows, depth, columns;
  DType a, b, y;
  Order order = Order::plain;  // of b
  bool bias = false;
};

struct Product {
  GuardedArray a, b, bias, y;
  MatMulViews views;
  explicit Product(const Case& c)
      : a(matrix(c.a, {c.rows, c.depth})),
        b(matrix(c.b, {c.depth, c.columns}, c.order)),
        bias(c.b, {c.columns}),
        y(matrix(c.y, {c.rows, c.columns}, Order::wide)),
        views{a.view(), b.view(), y.view(), {}} {
    a.randomize(1), b.randomize(2), bias.randomize(3);
    if (c.bias) views.bias = bias.view();
  }

  std::int64_t run_it() {
    std::vector<const GuardedArray*> inputs{&a, &b};
    if (views.bias) inputs.push_back(&bias);
    return run(prepare_row_product(views), inputs, {&y});
  }

  std::vector<double> expected() const {
    const Dims &yd = y.view().dims, &ad = a.view().dims;
    std::vector<double> sums;
    for (std::int64_t m = 0; m < yd[0]; ++m)
      for (std::int64_t n = 0; n < yd[1]; ++n) {
        double sum = views.bias ? bias.at(n) : 0;
        for (std::int64_t k = 0; k < ad[1]; ++k) sum += a.at(m * ad[1] + k) * b.at(k * yd[1] + n);
        sums.push_back(sum);
      }
    return sums;
  }
};

TEST(row_product, every_shape_and_format_matches_the_reference) {
  constexpr DType formats[] = {DType::f32, DType::f16, DType::bf16};
  for (const std::int64_t rows : {1, 2, 3, 4})
    for (const auto& [depth, columns] : {std::pair{1, 1}, {7, 5}, {64, 10}, {513, 300}, {40, 523}})
      for (const Order order : {Order::plain, Order::transposed, Order::wide})
        for (const DType b : formats)
          for (const DType other : {DType::f32, b}) {
            Product product({rows, depth, columns, other, b, other, order, columns % 2 == 1});
            product.run_it();
            expect_within_format(product.y, product.expected(),
                                 concat(rows, 'x', depth, 'x', columns, ' ', b, ' ', other));
          }
}

TEST(row_product, bits_do_not_depend_on_threads) {
  for (const Order order : {Order::plain, Order::transposed}) {
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      Product product({2, 300, 1000, DType::f32, DType::bf16, DType::f32, order});
      product.run_it();
      results.push_back(product.y.values());
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST(row_product, nan_reaches_its_column_and_flushed_results_are_counted) {
  Product product({1, 16, 40, DType::f32, DType::f16, DType::f16});
  for (std::int64_t k = 0; k < 16; ++k) product.a.set(k, k == 3 ? 1 : 0);
  for (std::int64_t n = 0; n < 40; ++n) product.b.set(3 * 40 + n, n == 5 ? 1 : 0x1p-24);
  product.a.set(3, 0x1p-2);  // a quarter of the least number becomes zero
  EXPECT_EQ(product.run_it(), 39);
  product.b.set(3 * 40 + 7, std::numeric_limits<double>::quiet_NaN());
  product.run_it();
  EXPECT_TRUE(std::isnan(product.y.at(7)));
  EXPECT_EQ(product.y.at(5), 0.25);
}

TEST(row_product, says_what_it_does_not_take) {
  const auto reason = [](const Case& c) { return row_product_reason(Product(c).views); };
  constexpr DType f32 = DType::f32, f16 = DType::f16, f64 = DType::f64;
  EXPECT_EQ(reason({5, 8, 8, f32, f16, f32}), "5 rows");
  EXPECT_EQ(reason({1, 8, 8, f32, f64, f32}), "a matrix of f64");
  EXPECT_EQ(reason({1, 8, 8, f64, f16, f32}), "rows of f64");
  EXPECT_EQ(reason({1, 8, 8, f32, f16, f32, Order::spread}), "neither rows nor columns are dense");
  EXPECT_EQ(reason({1, 0, 8, f32, f16, f32}), "nothing to multiply");
  EXPECT_EQ(reason({1, 8, 8, f16, f16, f16}), "");
}

}  // namespace
}  // namespace narrowgauge::cpu::row_product_test
