// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/floats/float_product.h"

#include <gtest/gtest.h>

#include "base/machine/cpu.h"
#include "kernels/array.h"

namespace narrowgauge::cpu::float_product_test {
namespace {

struct ProductCase {
  Dims a;
  std::int64_t columns;
  bool transposed, biased;
};

const ProductCase product_cases[] = {
    {{1, 64}, 40, false, false},    {{1, 96}, 1000, true, true},   {{5, 33}, 17, true, true},
    {{14, 16}, 32, false, true},    {{128, 96}, 64, true, true},   {{2, 9, 24}, 31, false, false},
    {{3, 2, 7, 40}, 8, true, true}, {{30, 640}, 512, true, false}, {{301, 12}, 50, false, true}};

struct Multiplied {
  GuardedArray y;
  std::vector<double> expected;
};

Multiplied multiply(const ProductCase& shape, int threads) {
  const std::int64_t depth = shape.a.back(), columns = shape.columns;
  Dims y_dims = shape.a;
  y_dims.back() = columns;
  GuardedArray a(DType::f32, shape.a), y(DType::f32, y_dims), bias(DType::f32, {columns});
  GuardedArray b(DType::f32, shape.transposed ? Dims{columns, depth} : Dims{depth, columns});
  a.randomize(1), b.randomize(2, 0.5), bias.randomize(3);
  View matrix = b.view();
  if (shape.transposed) matrix = {DType::f32, {depth, columns}, {1, depth}};
  MatMulViews views{a.view(), matrix, y.view(), {}};
  if (shape.biased) views.bias = bias.view();
  EXPECT_EQ(float_product_reason(views, {1}, isa()), "");
  run(prepare_float_product(views, {.threads = threads}), {&a, &b, &bias}, {&y});
  std::vector<double> expected;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = i / columns, column = i % columns;
    double sum = shape.biased ? bias.at(column) : 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += a.at(row * depth + k) *
             b.at(shape.transposed ? column * depth + k : k * columns + column);
    expected.push_back(sum);
  }
  return {y, expected};
}

std::string text(const ProductCase& shape) { return concat(shape.a, " x ", shape.columns); }

TEST(float_product, matches_the_reference) {
  if (isa() < Isa::avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  for (const ProductCase& shape : product_cases) {
    const Multiplied done = multiply(shape, 2);
    expect_within_format(done.y, done.expected, text(shape));
  }
}

TEST(float_product, gives_the_same_bits_for_any_number_of_threads) {
  if (isa() < Isa::avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  for (const ProductCase& shape : product_cases)
    for (const int threads : {2, 5})
      EXPECT_TRUE(multiply(shape, 1).y.same_bytes(multiply(shape, threads).y)) << text(shape);
}

TEST(float_product, says_what_it_does_not_take) {
  const View a = dense_view(DType::f32, {4, 32}), b = dense_view(DType::f32, {32, 16}),
             y = dense_view(DType::f32, {4, 16});
  EXPECT_EQ(float_product_reason({a, b, y, {}}, {1}, Isa::avx512), "");
  EXPECT_NE(float_product_reason({a, b, y, {}}, {1}, Isa::avx2), "");
  EXPECT_NE(float_product_reason({a, b, y, {}}, {0}, Isa::avx512), "");
  EXPECT_NE(float_product_reason({{DType::f32, {4, 32}, {1, 4}}, b, y, {}}, {1}, Isa::avx512), "");
  EXPECT_NE(float_product_reason({dense_view(DType::f32, {3, 4, 32}),
                                  dense_view(DType::f32, {3, 32, 16}),
                                  dense_view(DType::f32, {3, 4, 16}),
                                  {}},
                                 {1}, Isa::avx512),
            "");
}

}  // namespace
}  // namespace narrowgauge::cpu::float_product_test
