// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pairs/pair_products.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kernels/array.h"
#include "kernels/each_isa.h"
#include "kernels/pair_ways.h"

namespace narrowgauge::cpu::pair_products_test {
namespace {

using Draw = std::function<double(std::mt19937&)>;

struct Distribution {
  const char* name;
  Draw element;
  double row_spread = 0;  // powers of two between rows, at most
  double bound = 1.35;    // times the error of exact sums of rounded operands
};

const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> all = {
      {"normal", [](std::mt19937& r) { return std::normal_distribution<double>(0, 1)(r); }},
      {"uniform", [](std::mt19937& r) { return std::uniform_real_distribution<double>(0, 1)(r); }},
      {"behind a relu",
       [](std::mt19937& r) { return std::max(0.0, std::normal_distribution<double>(0, 1)(r)); }},
      {"lognormal tail",
       [](std::mt19937& r) {
         std::normal_distribution<double> normal(0, 1);
         return std::exp(1.5 * normal(r)) * (normal(r) < 0 ? -1 : 1);
       },
       0, 1.8},
      {"rows of different size",
       [](std::mt19937& r) { return std::normal_distribution<double>(0, 1)(r); }, 6},
  };
  return all;
}

struct Size {
  std::int64_t m, n, k;
};

enum class Order { plain, transposed };

GuardedArray matrix(DType dtype, std::int64_t rows, std::int64_t columns, Order order,
                    std::int64_t wider = 0) {
  View view = dense_view(dtype, {rows, columns});
  const bool plain = order == Order::plain;
  view.strides = plain ? Dims{columns + wider, 1} : Dims{1, rows + wider};
  return GuardedArray(view, plain ? rows * (columns + wider) : columns * (rows + wider));
}

void fill(GuardedArray& array, const Distribution& distribution, unsigned seed, bool by_rows) {
  std::mt19937 random(seed);
  const std::int64_t columns = array.view().dims[1], lines = array.view().dims[by_rows ? 0 : 1];
  std::vector<double> factors;
  for (std::int64_t i = 0; i < lines; ++i)
    factors.push_back(std::exp2(std::uniform_real_distribution<double>(
        -distribution.row_spread, distribution.row_spread)(random)));
  for (std::int64_t i = 0; i < array.size(); ++i)
    array.set(i, distribution.element(random) *
                     factors[static_cast<std::size_t>(by_rows ? i / columns : i % columns)]);
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                            const Size& size) {
  std::vector<double> y(static_cast<std::size_t>(size.m * size.n));
  for (std::int64_t i = 0; i < size.m; ++i)
    for (std::int64_t k = 0; k < size.k; ++k) {
      const double left = a[static_cast<std::size_t>(i * size.k + k)];
      for (std::int64_t j = 0; j < size.n; ++j)
        y[static_cast<std::size_t>(i * size.n + j)] +=
            left * b[static_cast<std::size_t>(k * size.n + j)];
    }
  return y;
}

std::vector<double> rounded_to(DType dtype, const std::vector<double>& values) {
  GuardedArray rounded(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < rounded.size(); ++i)
    rounded.set(i, values[static_cast<std::size_t>(i)]);
  return rounded.values();
}

// f32 operands are held to those rounded to f16.
TEST(pair_products, error_is_that_of_narrow_operands) {
  NG_NEEDS_VNNI();
  const Size size{56, 64, 1024};
  for (const Distribution& distribution : distributions()) {
    GuardedArray a(DType::f32, {size.m, size.k}), b(DType::f32, {size.k, size.n});
    fill(a, distribution, 1, true), fill(b, distribution, 2, false);
    const std::vector<double> exact = product(a.values(), b.values(), size);
    for (const Way& way : ways()) {
      const DType narrow = way.dtype == DType::bf16 ? DType::bf16 : DType::f16;
      const double contract = relative_error(
          product(rounded_to(narrow, a.values()), rounded_to(narrow, b.values()), size), exact);
      GuardedArray left(way.dtype, a.view().dims), right(way.dtype, b.view().dims),
          y(DType::f32, {size.m, size.n});
      for (std::int64_t i = 0; i < a.size(); ++i) left.set(i, a.at(i));
      for (std::int64_t i = 0; i < b.size(); ++i) right.set(i, b.at(i));
      run(prepare_pair_matmul(way.format, {left.view(), right.view(), y.view(), {}}, {}),
          {&left, &right}, {&y});
      const double error = relative_error(y.values(), exact);
      EXPECT_LE(error, distribution.bound * contract) << distribution.name << ' ' << text(way);
    }
  }
}

// Every edge: rows, columns and depths that are no multiple of anything, one and several chunks.
TEST(pair_products, every_shape_and_order_matches_the_reference) {
  NG_NEEDS_VNNI();
  const Size sizes[] = {{64, 64, 64},    {16, 32, 32},   {17, 33, 35},  {29, 47, 257},
                        {100, 200, 300}, {31, 40, 4099}, {57, 129, 511}};
  for (const Size& size : sizes)
    for (const Way& way : ways())
      for (const DType out : {DType::f16, DType::bf16, DType::f32})
        for (const Order left : {Order::plain, Order::transposed})
          for (const Order right : {Order::plain, Order::transposed}) {
            GuardedArray a = matrix(way.dtype, size.m, size.k, left, 3);
            GuardedArray b = matrix(way.dtype, size.k, size.n, right, 5);
            GuardedArray y = matrix(out, size.m, size.n, Order::plain, 2),
                         bias(way.dtype, {size.n});
            a.randomize(1), b.randomize(2), bias.randomize(3);
            std::vector<double> expected = product(a.values(), b.values(), size);
            for (std::size_t i = 0; i < expected.size(); ++i)
              expected[i] += bias.at(static_cast<std::int64_t>(i) % size.n);
            run(prepare_pair_matmul(way.format, {a.view(), b.view(), y.view(), bias.view()}, {}),
                {&a, &b, &bias}, {&y});
            const std::string what = concat(text(way), ' ', Dims{size.m, size.n, size.k}, ' ', out,
                                            static_cast<int>(left), static_cast<int>(right));
            EXPECT_LE(relative_error(y.values(), expected), most_error(way, out)) << what;
            EXPECT_TRUE(y.guards_intact()) << what;
          }
}

struct Batch {
  Dims a, b, y;
};

TEST(pair_products, batches_and_broadcasts_match_the_reference) {
  NG_NEEDS_VNNI();
  const Batch batches[] = {{{5, 3, 40, 64}, {5, 3, 64, 48}, {5, 3, 40, 48}},
                           {{6, 20, 33}, {33, 32}, {6, 20, 32}},
                           {{2, 1, 20, 64}, {1, 3, 64, 32}, {2, 3, 20, 32}},
                           {{20, 64}, {4, 64, 32}, {4, 20, 32}},
                           {{30, 1, 64}, {64, 32}, {30, 1, 32}}};
  for (const Batch& batch : batches)
    for (const Way& way : ways()) {
      GuardedArray a(way.dtype, batch.a), b(way.dtype, batch.b), y(DType::f32, batch.y),
          f64(DType::f64, batch.y);
      a.randomize(1), b.randomize(2);
      GuardedArray wide_a(DType::f64, batch.a), wide_b(DType::f64, batch.b);
      for (std::int64_t i = 0; i < a.size(); ++i) wide_a.set(i, a.at(i));
      for (std::int64_t i = 0; i < b.size(); ++i) wide_b.set(i, b.at(i));
      run(prepare_matmul({wide_a.view(), wide_b.view(), f64.view(), {}}, {}), {&wide_a, &wide_b},
          {&f64});
      run(prepare_pair_matmul(way.format, {a.view(), b.view(), y.view(), {}}, {.threads = 2}),
          {&a, &b}, {&y});
      EXPECT_LE(relative_error(y.values(), f64.values()), most_error(way, DType::f32))
          << text(way) << ' ' << concat(batch.y);
    }
}

// Operands whose integers reach the bound of Cauchy and Schwarz: a wrapped int32 has the wrong
// sign.
TEST(pair_products, no_sum_overflows_where_operands_are_perfectly_correlated) {
  NG_NEEDS_VNNI();
  const Draw draws[] = {
      [](std::mt19937&) { return 1.0; }, [](std::mt19937&) { return 65504.0; },
      [](std::mt19937& r) { return std::normal_distribution<double>(0, 1)(r); },
      [](std::mt19937& r) { return r() % 64 == 0 ? (r() % 2 ? 60000.0 : -60000.0) : 1e-3; },
      [](std::mt19937& r) { return r() % 256 == 0 ? 1.0 : 0.0; }};
  for (const double sign : {1.0, -1.0})
    for (const Draw& draw : draws)
      for (const std::int64_t depth : {32, 255, 256, 1000})
        for (const Way& way : ways()) {
          GuardedArray a(way.dtype, {32, depth}), y(DType::f32, {32, 32});
          GuardedArray b = matrix(way.dtype, depth, 32, Order::transposed);
          std::mt19937 random(7);
          for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, draw(random));
          for (std::int64_t i = 0; i < a.size(); ++i)
            b.set(i % depth * 32 + i / depth, sign * a.at(i));
          run(prepare_pair_matmul(way.format, {a.view(), b.view(), y.view(), {}}, {}), {&a, &b},
              {&y});
          for (std::int64_t i = 0; i < 32; ++i) {
            double sum = 0;
            for (std::int64_t k = 0; k < depth; ++k)
              sum += a.at(i * depth + k) * a.at(i * depth + k);
            ASSERT_NEAR(y.at(i * 33), sign * sum, 1e-3 * sum) << depth << ' ' << text(way);
          }
        }
}

TEST(pair_products, magnitudes_at_the_ends_of_f32_are_kept) {
  NG_NEEDS_VNNI();
  for (const Way& way : ways())
    for (const double power : {-80.0, -60.0, 60.0, 80.0})
      for (const Order order : {Order::plain, Order::transposed}) {
        if (way.dtype == DType::f16) continue;
        const Size size{16, 32, 64};
        GuardedArray a = matrix(way.dtype, size.m, size.k, order);
        GuardedArray b = matrix(way.dtype, size.k, size.n, order), y(DType::f32, {size.m, size.n});
        a.randomize(1, std::exp2(power)), b.randomize(2, std::exp2(-power));
        run(prepare_pair_matmul(way.format, {a.view(), b.view(), y.view(), {}}, {}), {&a, &b},
            {&y});
        EXPECT_LE(relative_error(y.values(), product(a.values(), b.values(), size)),
                  way.dtype == DType::f32 ? 2e-4 : most_error(way, DType::f32))
            << text(way) << ' ' << power;
      }
}

TEST(pair_products, what_is_not_finite_reaches_its_row_or_column_and_no_other) {
  NG_NEEDS_VNNI();
  const Size size{40, 48, 300};
  for (const Way& way : ways())
    for (const double bad :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()})
      for (const Order order : {Order::plain, Order::transposed})
        for (const bool left : {true, false}) {
          GuardedArray a = matrix(way.dtype, size.m, size.k, order);
          GuardedArray b = matrix(way.dtype, size.k, size.n, order), y(way.dtype, {size.m, size.n});
          a.randomize(1), b.randomize(2);
          (left ? a : b).set(left ? 17 * size.k + 270 : 3 * size.n + 29, bad);
          run(prepare_pair_matmul(way.format, {a.view(), b.view(), y.view(), {}}, {}), {&a, &b},
              {&y});
          for (std::int64_t i = 0; i < y.size(); ++i)
            ASSERT_EQ(std::isfinite(y.at(i)), left ? i / size.n != 17 : i % size.n != 29)
                << text(way) << ' ' << i;
        }
}

TEST(pair_products, gives_the_same_bits_for_any_number_of_threads) {
  NG_NEEDS_VNNI();
  for (const Way& way : ways())
    for (const Order order : {Order::plain, Order::transposed}) {
      GuardedArray a = matrix(way.dtype, 250, 600, order), b = matrix(way.dtype, 600, 200, order);
      a.randomize(1), b.randomize(2);
      const auto with = [&](int threads) {
        GuardedArray y(way.dtype, {250, 200});
        run(prepare_pair_matmul(way.format, {a.view(), b.view(), y.view(), {}},
                                {.threads = threads}),
            {&a, &b}, {&y});
        return y;
      };
      const GuardedArray one = with(1);
      EXPECT_TRUE(one.same_bytes(with(2)) && one.same_bytes(with(3))) << text(way);
    }
}

TEST(pair_products, counts_results_that_become_zero_in_f16) {
  NG_NEEDS_VNNI();
  // 19 rows: the halves of the last tile share one.
  GuardedArray a(DType::f16, {19, 32}), b(DType::f16, {32, 40}), y(DType::f16, {19, 40});
  for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, i % 32 == 0 && i / 32 != 3 ? 0x1p-20 : 0);
  for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, i / 40 == 0 && i % 40 != 5 ? 0x1p-20 : 0);
  EXPECT_EQ(run(prepare_pair_matmul(PairFormat::dfp16, {a.view(), b.view(), y.view(), {}}, {}),
                {&a, &b}, {&y}),
            18 * 39);
}

TEST(pair_products, declines_what_is_small_or_lies_otherwise) {
  const auto reason = [](const View& a, const View& b, const View& y) {
    return pair_matmul_reason(PairFormat::dfp16, {a, b, y, {}}, isa());
  };
  const auto dense = [](const Dims& dims) { return dense_view(DType::f16, dims); };
  if (isa() < Isa::vnni) {
    EXPECT_NE(reason(dense({64, 64}), dense({64, 64}), dense({64, 64})).find("VNNI"),
              std::string::npos);
    return;
  }
  EXPECT_EQ(reason(dense({64, 64}), dense({64, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense({64, 31}), dense({31, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense({64, 64}), dense({64, 31}), dense({64, 31})), "");
  EXPECT_NE(reason(dense({64, 64}), dense({64, 64}), {DType::f16, {64, 64}, {1, 64}}), "");
  EXPECT_NE(reason({DType::f16, {64, 64}, {128, 2}}, dense({64, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense_view(DType::f64, {64, 64}), dense({64, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense({64, 64}), dense({64, 64}), dense_view(DType::f64, {64, 64})), "");
}

TEST(pair_products, of_bf16_need_the_unit_and_take_bf16_alone) {
  const auto reason = [](PairFormat format, DType dtype) {
    const View matrix = dense_view(dtype, {64, 64});
    return pair_matmul_reason(format, {matrix, matrix, matrix, {}}, isa());
  };
  const bool has_pairs = isa() == Isa::bf16;
  EXPECT_EQ(reason(PairFormat::bf16, DType::bf16).empty(), has_pairs);
  EXPECT_NE(reason(PairFormat::bf16, DType::f16), "");
  EXPECT_NE(reason(PairFormat::bf16, DType::f32), "");
  EXPECT_EQ(reason(PairFormat::dfp16, DType::bf16).empty(), isa() >= Isa::vnni && isa() < Isa::amx);
}

// Products of bf16 are exact: sums of small integers are too.
TEST(pair_products, of_bf16_add_up_integers_exactly) {
  if (isa() != Isa::bf16) GTEST_SKIP() << "no unit of bf16 that is used, this is " << name(isa());
  const Size size{45, 50, 333};
  GuardedArray a(DType::bf16, {size.m, size.k}), b(DType::bf16, {size.k, size.n});
  GuardedArray y(DType::f32, {size.m, size.n});
  for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, static_cast<double>(i * 37 % 255 - 127));
  for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, static_cast<double>(i * 61 % 127 - 63));
  run(prepare_pair_matmul(PairFormat::bf16, {a.view(), b.view(), y.view(), {}}, {}), {&a, &b},
      {&y});
  EXPECT_EQ(y.values(), product(a.values(), b.values(), size));
}

TEST(pair_products, tests_pass_under_each_cap_of_the_instruction_set) {
  expect_tests_pass_under_each_isa("pair_products.*-*under_each_cap*:*every*");
}

}  // namespace
}  // namespace narrowgauge::cpu::pair_products_test
