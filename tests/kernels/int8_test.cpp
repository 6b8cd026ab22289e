// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "base/threads/parallel.h"
#include "kernels/cpu/int8/int8_gemm.h"
#include "kernels/each_isa.h"
#include "kernels/matrix.h"

namespace narrowgauge::cpu::int8_test {
namespace {

constexpr DType bytes[] = {DType::u8, DType::i8};

std::int32_t wrapped(std::int64_t x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(x)));
}

std::int64_t whole(const GuardedArray& array, std::int64_t i) {
  return static_cast<std::int64_t>(array.at(i));
}

void fill(GuardedArray& array, std::mt19937& random) {
  const bool is_signed = array.view().dtype == DType::i8;
  std::uniform_int_distribution<int> all(is_signed ? -128 : 0, is_signed ? 127 : 255);
  for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, all(random));
}

GuardedArray numbers(DType dtype, std::int64_t count, std::mt19937& random) {
  GuardedArray array(dtype, {std::max<std::int64_t>(count, 1)});
  fill(array, random);
  return array;
}

struct Case {
  std::int64_t m, n, k;
  DType a = DType::u8, b = DType::i8;
  Order a_order = Order::plain, b_order = Order::plain;
  std::int64_t a_zeros = 1, b_zeros = 1;  // 0, 1, or one for each
  bool constant = false;
};

std::string text(const Case& c) {
  return concat(c.m, 'x', c.k, 'x', c.n, ' ', c.a, c.b, " orders ", static_cast<int>(c.a_order),
                static_cast<int>(c.b_order), " zeros ", c.a_zeros, ' ', c.b_zeros,
                c.constant ? " constant" : "");
}

// Row-major, less a zero for each row or column, or for all.
std::vector<std::int32_t> values_without(const GuardedArray& array, const GuardedArray& zeros,
                                         std::int64_t count, bool by_row) {
  const std::int64_t columns = array.view().dims[1];
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const std::int64_t line = count <= 1 ? 0 : by_row ? i / columns : i % columns;
    values.push_back(static_cast<std::int32_t>(array.at(i) - (count ? zeros.at(line) : 0)));
  }
  return values;
}

// The sums of (a - a_zero)(b - b_zero) over k, by plain loops.
std::vector<std::int64_t> products(const Case& c, const GuardedArray& a, const GuardedArray& b,
                                   const GuardedArray& a_zero, const GuardedArray& b_zero) {
  const auto left = values_without(a, a_zero, c.a_zeros, true);
  const auto right = values_without(b, b_zero, c.b_zeros, false);
  std::vector<std::int64_t> y(static_cast<std::size_t>(c.m * c.n));
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t k = 0; k < c.k; ++k) {
      const std::int64_t factor = left[static_cast<std::size_t>(i * c.k + k)];
      const std::int32_t* const row = right.data() + k * c.n;
      std::int64_t* const to = y.data() + i * c.n;
      for (std::int64_t j = 0; j < c.n; ++j) to[j] += factor * row[j];
    }
  return y;
}

void check(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  GuardedArray a = matrix(c.a, {c.m, c.k}, c.a_order), b = matrix(c.b, {c.k, c.n}, c.b_order);
  fill(a, random), fill(b, random);
  const GuardedArray a_zero = numbers(c.a, c.a_zeros, random),
                     b_zero = numbers(c.b, c.b_zeros, random);
  GuardedArray y(DType::i32, {c.m, c.n});
  Int8Quantities quantities;
  quantities.a_zero = {c.a, c.a_zeros, 2};
  quantities.b_zero = {c.b, c.b_zeros, 3};
  const Int8Operands operands{a.view(), b.view(), y.view(), nullptr,
                              c.constant ? b.data() : nullptr};
  run(prepare_int8_matmul(operands, quantities), {&a, &b, &a_zero, &b_zero}, {&y});
  const auto expected = products(c, a, b, a_zero, b_zero);
  EXPECT_TRUE(y.guards_intact()) << text(c);
  for (std::int64_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(whole(y, i), wrapped(expected[static_cast<std::size_t>(i)]))
        << text(c) << " at " << i / c.n << ',' << i % c.n;
}

TEST(int8, every_small_shape_is_exact) {
  unsigned seed = 0;
  for (const std::int64_t m : {1, 2, 31, 33})
    for (const std::int64_t n : {1, 7, 32, 50})
      for (const std::int64_t k : {1, 3, 4, 63, 64, 66, 130})
        for (const DType a : bytes)
          for (const DType b : bytes) check({m, n, k, a, b}, ++seed);
}

TEST(int8, every_order_and_kind_of_zero_is_exact) {
  unsigned seed = 0;
  constexpr Order orders[] = {Order::plain, Order::transposed, Order::wide, Order::spread};
  for (const Order a_order : orders)
    for (const Order b_order : orders)
      for (const DType a : bytes)
        for (const DType b : bytes) {
          check({45, 37, 70, a, b, a_order, b_order}, ++seed);
          check({45, 37, 70, a, b, a_order, b_order, 45, 1}, ++seed);
          check({45, 37, 70, a, b, a_order, b_order, 0, 37, true}, ++seed);
          check({45, 37, 70, a, b, a_order, b_order, 45, 37}, ++seed);
          check({45, 37, 70, a, b, a_order, b_order, 0, 0, true}, ++seed);
        }
}

// Several row blocks, column blocks, runs and chunks.
TEST(int8, large_products_are_exact) {
  for (const bool constant : {false, true}) {
    check({300, 140, 1100, DType::u8, DType::i8, Order::plain, Order::plain, 1, 1, constant}, 1);
    check({33, 600, 8300, DType::i8, DType::u8, Order::plain, Order::transposed, 1, 600, constant},
          2);
    check({1030, 33, 1030, DType::i8, DType::i8, Order::transposed, Order::plain, 0, 1, constant},
          3);
    check({520, 544, 64, DType::u8, DType::u8, Order::plain, Order::plain, 0, 0, constant}, 4);
  }
}

TEST(int8, extreme_values_wrap_as_int32) {
  struct Extreme {
    DType a, b;
    int left, right, a_zero, b_zero;
  };
  const Extreme extremes[] = {
      {DType::i8, DType::i8, -128, -128, 0, 0},  {DType::i8, DType::i8, -128, -128, 127, 127},
      {DType::u8, DType::i8, 255, -128, 0, 0},   {DType::u8, DType::i8, 255, -128, 0, 127},
      {DType::i8, DType::u8, -128, 255, 127, 0}, {DType::u8, DType::u8, 255, 255, 0, 0},
      {DType::u8, DType::u8, 0, 0, 255, 255}};
  for (const auto& [a_dtype, b_dtype, left, right, za, zb] : extremes)
    for (const std::int64_t k : {64, 33025, 33026, 70000}) {
      GuardedArray a(a_dtype, {3, k}), b(b_dtype, {k, 5}), y(DType::i32, {3, 5});
      GuardedArray a_zero(a_dtype, {1}), b_zero(b_dtype, {1});
      for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, left);
      for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, right);
      a_zero.set(0, za), b_zero.set(0, zb);
      Int8Quantities quantities;
      quantities.a_zero = {a_dtype, 1, 2};
      quantities.b_zero = {b_dtype, 1, 3};
      run(prepare_int8_matmul({a.view(), b.view(), y.view()}, quantities),
          {&a, &b, &a_zero, &b_zero}, {&y});
      const std::int32_t expected = wrapped(k * (left - za) * (right - zb));
      for (std::int64_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(whole(y, i), expected) << left << ' ' << right << ' ' << k;
    }
}

TEST(int8, batches_broadcast) {
  struct Shapes {
    Dims a, b, y;
  };
  const Shapes all[] = {{{6, 8, 70}, {6, 70, 12}, {6, 8, 12}},
                        {{2, 1, 8, 70}, {1, 3, 70, 12}, {2, 3, 8, 12}},
                        {{4, 8, 70}, {70, 12}, {4, 8, 12}},
                        {{8, 70}, {4, 70, 12}, {4, 8, 12}}};
  std::mt19937 random(5);
  for (const auto& [a_dims, b_dims, y_dims] : all)
    for (const bool constant : {false, true}) {
      GuardedArray a(DType::u8, a_dims), b(DType::i8, b_dims), y(DType::i32, y_dims);
      fill(a, random), fill(b, random);
      const GuardedArray a_zero = numbers(DType::u8, 8, random);
      Int8Quantities quantities;
      quantities.a_zero = {DType::u8, 8, 2};
      run(prepare_int8_matmul(
              {a.view(), b.view(), y.view(), nullptr, constant ? b.data() : nullptr}, quantities),
          {&a, &b, &a_zero}, {&y});
      const std::int64_t matrices = y.size() / 96, a_count = a.size() / 560,
                         b_count = b.size() / 840;
      for (std::int64_t i = 0; i < y.size(); ++i) {
        const std::int64_t at = i / 96, row = i / 12 % 8, column = i % 12;
        const bool crossed = a_count < matrices && b_count < matrices;
        const std::int64_t in_a = crossed ? at / 3 : a_count == 1 ? 0 : at;
        const std::int64_t in_b = crossed ? at % 3 : b_count == 1 ? 0 : at;
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < 70; ++k)
          sum += (whole(a, in_a * 560 + row * 70 + k) - whole(a_zero, row)) *
                 whole(b, in_b * 840 + k * 12 + column);
        ASSERT_EQ(whole(y, i), sum) << concat(y_dims, " at ", i);
      }
    }
}

float scale_of(double x) { return static_cast<float>(x); }

TEST(int8, quantised_results_are_rounded_once_and_saturated) {
  const Case c{70, 45, 100, DType::i8, DType::u8};
  for (const DType y_dtype : bytes)
    for (const std::int64_t a_scales : {1, 70})
      for (const std::int64_t b_scales : {1, 45})
        for (const double y_step : {0.02, 0.5, 40.0}) {
          std::mt19937 random(3);
          GuardedArray a = matrix(c.a, {c.m, c.k}, Order::plain),
                       b = matrix(c.b, {c.k, c.n}, Order::plain);
          fill(a, random), fill(b, random);
          const GuardedArray a_zero = numbers(c.a, 1, random), b_zero = numbers(c.b, 1, random);
          GuardedArray bias(DType::i32, {c.m}), a_scale(DType::f32, {a_scales}),
              b_scale(DType::f32, {b_scales}), y_scale(DType::f32, {1}), y_zero(y_dtype, {1});
          for (std::int64_t i = 0; i < c.m; ++i) bias.set(i, static_cast<double>(37 * i - 900));
          for (std::int64_t i = 0; i < a_scales; ++i) a_scale.set(i, 0.01 + 0.0003 * double(i));
          for (std::int64_t i = 0; i < b_scales; ++i) b_scale.set(i, 0.02 + 0.0007 * double(i));
          y_scale.set(0, y_step);
          y_zero.set(0, y_dtype == DType::i8 ? -5 : 131);
          Int8Quantities q{{c.a, 1, 2},
                           {c.b, 1, 3},
                           {DType::i32, c.m, 4},
                           {DType::f32, a_scales, 5},
                           {DType::f32, b_scales, 6},
                           {DType::f32, 1, 7},
                           {y_dtype, 1, 8},
                           y_dtype == DType::i8};
          GuardedArray y(y_dtype, {c.m, c.n});
          run(prepare_int8_matmul({a.view(), b.view(), y.view()}, q),
              {&a, &b, &a_zero, &b_zero, &bias, &a_scale, &b_scale, &y_scale, &y_zero}, {&y});
          const auto sums = products(c, a, b, a_zero, b_zero);
          EXPECT_TRUE(y.guards_intact());
          for (std::int64_t i = 0; i < y.size(); ++i) {
            const std::int64_t row = i / c.n, column = i % c.n;
            const float left = scale_of(a_scale.at(a_scales > 1 ? row : 0));
            const float right = scale_of(b_scale.at(b_scales > 1 ? column : 0));
            const float out = scale_of(y_step);
            const float factor =
                a_scales > 1 && b_scales > 1 ? left / out * right : left * right / out;
            const auto sum = static_cast<float>(sums[static_cast<std::size_t>(i)] + 37 * row - 900);
            const double rounded = std::nearbyint(double(sum * factor)) + y_zero.at(0);
            const double expected = std::clamp(rounded, y_dtype == DType::i8 ? -128.0 : 0.0,
                                               y_dtype == DType::i8 ? 127.0 : 255.0);
            ASSERT_EQ(y.at(i), expected) << name(y_dtype) << ' ' << a_scales << ' ' << b_scales
                                         << ' ' << y_step << " at " << i;
          }
        }
}

TEST(int8, bits_do_not_depend_on_threads) {
  std::mt19937 random(7);
  GuardedArray a(DType::i8, {300, 700}), b(DType::u8, {700, 500});
  fill(a, random), fill(b, random);
  std::optional<GuardedArray> first;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    GuardedArray y(DType::i32, {300, 500});
    run(prepare_int8_matmul({a.view(), b.view(), y.view()}, {}), {&a, &b}, {&y});
    if (!first) first = y;
    EXPECT_TRUE(y.same_bytes(*first)) << threads;
  }
}

struct Window {
  Dims x, w, strides, dilations, begin, end;
  std::int64_t groups = 1;
};

Dims output_of(const Window& c) {
  Dims y{c.x[0], c.w[0]};
  for (std::size_t i = 0; i < c.strides.size(); ++i)
    y.push_back((c.x[2 + i] + c.begin[i] + c.end[i] - (c.w[2 + i] - 1) * c.dilations[i] - 1) /
                    c.strides[i] +
                1);
  return y;
}

// An index of a row-major array of these sizes.
std::int64_t flat(const Dims& dims, const Dims& index) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + index[i];
  return at;
}

Dims place_in(const Dims& dims, std::int64_t at) {
  Dims index(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; at /= dims[i]) index[i] = at % dims[i];
  return index;
}

using Values = std::vector<double>;

std::int64_t convolved(const Window& c, const Values& x, const Values& w, const Dims& place,
                       std::int64_t x_zero, std::int64_t w_zero) {
  const std::int64_t in_group = c.x[1] / c.groups, group = place[1] / (c.w[0] / c.groups);
  const Dims kernel(c.w.begin() + 1, c.w.end());
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < element_count(kernel); ++k) {
    const Dims tap = place_in(kernel, k);
    Dims from{place[0], group * in_group + tap[0]};
    bool inside = true;
    for (std::size_t i = 0; i < c.strides.size(); ++i) {
      from.push_back(place[2 + i] * c.strides[i] + tap[1 + i] * c.dilations[i] - c.begin[i]);
      inside = inside && from.back() >= 0 && from.back() < c.x[2 + i];
    }
    if (!inside) continue;
    const auto weight = static_cast<std::size_t>(place[1] * element_count(kernel) + k);
    sum += (static_cast<std::int64_t>(x[static_cast<std::size_t>(flat(c.x, from))]) - x_zero) *
           (static_cast<std::int64_t>(w[weight]) - w_zero);
  }
  return sum;
}

const std::vector<Window>& windows() {
  static const std::vector<Window> all = {
      {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {{2, 3, 9, 11}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 70, 4, 14}, {34, 70, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {{2, 4, 15, 13}, {6, 4, 1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{1, 2, 11, 9}, {33, 2, 7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
      {{3, 8, 12, 10}, {12, 4, 3, 2}, {2, 3}, {2, 1}, {2, 0}, {1, 2}, 2},
      {{2, 5, 7, 7}, {10, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 5},
      {{1, 2, 20}, {3, 2, 5}, {3}, {2}, {4}, {0}},
      {{1, 2, 5, 6, 7}, {4, 2, 2, 3, 3}, {1, 2, 1}, {2, 1, 2}, {0, 1, 2}, {1, 1, 0}},
      {{1, 2, 4, 4}, {2, 2, 3, 3}, {5, 5}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 70, 5, 3}, {34, 70, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
  };
  return all;
}

void check(const Window& c, DType x_dtype, DType w_dtype, std::int64_t w_zeros, bool constant) {
  std::mt19937 random(11);
  const Dims y_dims = output_of(c);
  GuardedArray x(x_dtype, c.x), w(w_dtype, c.w), y(DType::i32, y_dims);
  fill(x, random), fill(w, random);
  const GuardedArray x_zero = numbers(x_dtype, 1, random),
                     w_zero = numbers(w_dtype, w_zeros, random);
  Int8Quantities quantities;
  quantities.b_zero = {x_dtype, 1, 2};
  quantities.a_zero = {w_dtype, w_zeros, 3};
  run(prepare_int8_convolution({w.view(), x.view(), y.view(), constant ? w.data() : nullptr},
                               {c.strides, c.dilations, c.begin, c.end, c.groups}, quantities),
      {&w, &x, &x_zero, &w_zero}, {&y});
  EXPECT_TRUE(y.guards_intact());
  const std::string what = concat(c.x, c.w, ' ', x_dtype, w_dtype, ' ', w_zeros);
  const Values images = x.values(), weights = w.values();
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Dims place = place_in(y_dims, i);
    const std::int64_t zero = w_zeros == 0 ? 0 : whole(w_zero, w_zeros > 1 ? place[1] : 0);
    ASSERT_EQ(whole(y, i), convolved(c, images, weights, place, whole(x_zero, 0), zero))
        << what << " " << i;
  }
}

TEST(int8, convolutions_of_every_window_are_exact) {
  for (const Window& c : windows())
    for (const DType x : bytes)
      for (const DType w : bytes) {
        check(c, x, w, 1, false);
        check(c, x, w, c.w[0], true);
        if (x == w) check(c, x, w, 0, false);
      }
}

TEST(int8, equal_on_every_isa) {
  expect_tests_pass_under_each_isa("int8.*-*every_isa", {Isa::avx2, Isa::vnni});
}

}  // namespace
}  // namespace narrowgauge::cpu::int8_test
