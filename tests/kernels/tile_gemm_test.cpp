// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/tile_gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <memory>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/matrix.h"
#include "kernels/needs_tiles.h"

namespace narrowgauge::cpu::tile_gemm_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Rows of op(a) op(b) + bias for matrix `batch` of y, in float64.
std::vector<double> reference_row(const GuardedArray& a, const GuardedArray& b,
                                  const GuardedArray* bias, std::int64_t row,
                                  std::int64_t a_matrix = 0, std::int64_t b_matrix = 0) {
  const Dims &ad = a.view().dims, &bd = b.view().dims;
  const std::int64_t rows = ad[ad.size() - 2], depth = ad.back(), columns = bd.back();
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (std::int64_t n = 0; n < columns && bias; ++n)
    sums[static_cast<std::size_t>(n)] = bias->at(n);
  for (std::int64_t k = 0; k < depth; ++k) {
    const double x = a.at((a_matrix * rows + row) * depth + k);
    for (std::int64_t n = 0; n < columns; ++n)
      sums[static_cast<std::size_t>(n)] += x * b.at((b_matrix * depth + k) * columns + n);
  }
  return sums;
}

std::vector<double> row_of(const GuardedArray& y, std::int64_t row) {
  std::vector<double> values;
  const std::int64_t columns = y.view().dims.back();
  for (std::int64_t n = 0; n < columns; ++n) values.push_back(y.at(row * columns + n));
  return values;
}

double rounding_of(DType dtype) {
  return dtype == DType::f32 ? 0 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
}

// What products and sums may add to the rounding of the result, of its norm.
double error_of_products(DType operands) { return operands == DType::bf16 ? 1e-6 : 1e-5; }

struct Formats {
  DType in, out;
};
constexpr std::array<Formats, 6> every_format = {{{DType::bf16, DType::bf16},
                                                  {DType::bf16, DType::f32},
                                                  {DType::f32, DType::f32},
                                                  {DType::f32, DType::bf16},
                                                  {DType::f16, DType::f16},
                                                  {DType::f16, DType::f32}}};

struct Shape3 {
  std::int64_t m, n, k;
};

struct Orders {
  Order a = Order::plain, b = Order::plain, y = Order::plain;
};

struct Product {
  GuardedArray a, b, y;
};

Product product(const Shape3& s, const Formats& f, const Orders& orders = {}) {
  return {matrix(f.in, {s.m, s.k}, orders.a), matrix(f.in, {s.k, s.n}, orders.b),
          matrix(f.out, {s.m, s.n}, orders.y)};
}

void multiply(Product& p, const GuardedArray* bias, int threads = 0,
              const std::vector<int>& lasting = {}) {
  MatMulViews views{p.a.view(), p.b.view(), p.y.view(), {}};
  if (bias) views.bias = bias->view();
  std::vector<const GuardedArray*> inputs{&p.a, &p.b};
  if (bias) inputs.push_back(bias);
  run(prepare_tile_gemm(views, {.threads = threads, .lasting = lasting}), inputs, {&p.y});
}

void expect_product(const Product& p, const GuardedArray* bias, std::int64_t every,
                    const std::string& what) {
  const DType out = p.y.view().dtype;
  for (std::int64_t row = 0; row < p.y.view().dims[0]; row += every) {
    const double error = relative_error(row_of(p.y, row), reference_row(p.a, p.b, bias, row));
    ASSERT_LE(error, rounding_of(out) + error_of_products(p.a.view().dtype))
        << what << ", row " << row;
  }
  EXPECT_TRUE(p.y.guards_intact()) << what;
}

void check(const Shape3& s, const Formats& f, const Orders& orders, std::int64_t every) {
  Product p = product(s, f, orders);
  GuardedArray bias(f.out, {s.n});
  p.a.randomize(1), p.b.randomize(2), bias.randomize(3);
  const std::string what =
      concat(s.m, 'x', s.n, 'x', s.k, ' ', f.in, " to ", f.out, ", orders ",
             static_cast<int>(orders.a), static_cast<int>(orders.b), static_cast<int>(orders.y));
  multiply(p, &bias);
  expect_product(p, &bias, every, what);
}

TEST(tile_gemm, every_edge_matches_the_reference_in_every_format) {
  NG_NEEDS_TILES();
  for (const Formats& f : every_format)
    for (const Shape3& s :
         {Shape3{32, 32, 32}, {33, 47, 95}, {64, 33, 63}, {100, 150, 65}, {95, 63, 601}})
      check(s, f, {}, 1);
}

TEST(tile_gemm, a_matrix_that_lasts_is_packed_ahead_and_gives_the_same_bits) {
  NG_NEEDS_TILES();
  for (const Formats& f : every_format)
    for (const Shape3& s : {Shape3{33, 447, 95}, {600, 63, 2100}, {2080, 150, 65}})
      for (const Order order : {Order::plain, Order::transposed}) {
        Product p = product(s, f, {.b = order});
        p.a.randomize(1), p.b.randomize(2);
        multiply(p, nullptr);
        const GuardedArray each_time = p.y;
        multiply(p, nullptr, 2, {1});
        EXPECT_TRUE(p.y.same_bytes(each_time)) << concat(s.m, ' ', f.in);
      }
}

TEST(tile_gemm, every_order_of_the_operands_matches_the_reference) {
  NG_NEEDS_TILES();
  constexpr std::array orders = {Order::plain, Order::transposed, Order::spread, Order::wide};
  for (const Formats& f : every_format)
    for (const Order a : orders)
      for (const Order b : orders) check({70, 77, 99}, f, {a, b, Order::wide}, 3);
}

// Few rows whose sums stay in L2, many that share B, a contraction in several chunks of both.
TEST(tile_gemm, every_partition_matches_the_reference) {
  NG_NEEDS_TILES();
  for (const Formats& f : every_format) {
    check({600, 500, 130}, f, {.b = Order::transposed}, 75);
    check({450, 420, f.in == DType::bf16 ? 3400 : 1700}, f, {.a = Order::transposed}, 60);
  }
  check({4130, 40, 3400}, every_format[0], {.b = Order::transposed}, 500);
  check({4130, 40, 1700}, every_format[2], {}, 500);
  // Both packed once: whole blocks and parts, in several chunks of which the last is shorter.
  check({545, 530, 3400}, every_format[0], {.a = Order::transposed}, 50);
  check({545, 530, 1700}, every_format[2], {.a = Order::transposed}, 60);
}

// Results that go past the caches must lie on whole lines.
TEST(tile_gemm, streamed_results_match_the_reference) {
  NG_NEEDS_TILES();
  for (const DType out : {DType::f32, DType::bf16}) {
    const std::int64_t m = 2050, n = 320, k = 64;
    Product p = product({m, n, k}, {DType::bf16, out});
    p.a.randomize(1), p.b.randomize(2);
    multiply(p, nullptr);
    const auto bytes = static_cast<std::size_t>(bytes_for(m * n, out) + 63) / 64 * 64;
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(64, bytes),
                                                             &std::free);
    const Prepared again = prepare_tile_gemm({p.a.view(), p.b.view(), p.y.view(), {}}, {});
    const std::unique_ptr<void, decltype(&std::free)> workspace(
        std::aligned_alloc(64, static_cast<std::size_t>(again.workspace + 63) / 64 * 64),
        &std::free);
    const void* const in[] = {p.a.data(), p.b.data()};
    void* const result = memory.get();
    again.run({in, &result, workspace.get(), nullptr});
    EXPECT_EQ(std::memcmp(result, p.y.data(), static_cast<std::size_t>(bytes_for(m * n, out))), 0);
    expect_product(p, nullptr, 100, concat("streamed ", out));
  }
}

TEST(tile_gemm, batches_are_broadcast) {
  NG_NEEDS_TILES();
  struct Case {
    Dims a, b, y;
  };
  for (const Formats& f : every_format)
    for (const Case& c : {Case{{3, 40, 64}, {3, 64, 50}, {3, 40, 50}},
                          {{2, 1, 40, 64}, {1, 3, 64, 50}, {2, 3, 40, 50}},
                          {{40, 64}, {4, 64, 50}, {4, 40, 50}},
                          {{4, 40, 64}, {64, 50}, {4, 40, 50}}}) {
      Product p{matrix(f.in, c.a, Order::wide), matrix(f.in, c.b, Order::transposed),
                matrix(f.out, c.y)};
      p.a.randomize(1), p.b.randomize(2);
      multiply(p, nullptr);
      const std::int64_t matrices = element_count(c.y) / 2000, last = c.y.size() == 4 ? 3 : 4;
      for (std::int64_t i = 0; i < matrices; ++i) {
        const auto place = [&](const Dims& dims) {
          if (dims.size() == 4) return dims[0] > 1 ? i / last : i % last;
          return dims.size() == 2 ? 0 : i;
        };
        const auto expected = reference_row(p.a, p.b, nullptr, 17, place(c.a), place(c.b));
        EXPECT_LE(relative_error(row_of(p.y, i * 40 + 17), expected),
                  rounding_of(f.out) + error_of_products(f.in))
            << concat(c.y) << name(f.in) << " matrix " << i;
      }
    }
}

TEST(tile_gemm, non_finite_input_reaches_its_row_or_column_and_no_other) {
  NG_NEEDS_TILES();
  for (const Formats& f : every_format)
    for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()})
      for (const bool in_a : {true, false}) {
        const Shape3 s{50, 45, 70};
        Product p = product(s, f);
        p.a.randomize(1), p.b.randomize(2);
        if (in_a)
          p.a.set(33 * s.k + 69, bad);
        else
          p.b.set(69 * s.n + 40, bad);
        multiply(p, nullptr);
        for (std::int64_t i = 0; i < p.y.size(); ++i)
          ASSERT_EQ(std::isfinite(p.y.at(i)), in_a ? i / s.n != 33 : i % s.n != 40)
              << name(f.in) << ' ' << bad << ' ' << i;
      }
}

TEST(tile_gemm, gives_the_same_bits_for_any_number_of_threads) {
  NG_NEEDS_TILES();
  for (const Formats& f : {every_format[0], every_format[2], every_format[4]})
    for (const Shape3& s : {Shape3{600, 500, 130}, {450, 420, 1700}, {530, 520, 1700}}) {
      Product one = product(s, f, {.a = s.m == 530 ? Order::transposed : Order::plain});
      one.a.randomize(1), one.b.randomize(2);
      Product two = one, three = one;
      multiply(one, nullptr, 1), multiply(two, nullptr, 2), multiply(three, nullptr, 3);
      EXPECT_TRUE(one.y.same_bytes(two.y) && one.y.same_bytes(three.y)) << name(f.in);
    }
}

// 4.4e-6 for standard normal values: 66 times less than with operands rounded to TF32.
TEST(tile_gemm, split_f32_keeps_the_error_that_is_promised) {
  NG_NEEDS_TILES();
  Product p = product({64, 64, 1024}, {DType::f32, DType::f32});
  p.a.randomize(1), p.b.randomize(2);
  multiply(p, nullptr);
  std::vector<double> expected;
  for (std::int64_t row = 0; row < 64; ++row) {
    const auto values = reference_row(p.a, p.b, nullptr, row);
    expected.insert(expected.end(), values.begin(), values.end());
  }
  EXPECT_LE(relative_error(p.y.values(), expected), 4.8e-6);
}

// Times one, every f16 comes back as it was: subnormals and the largest too.
TEST(tile_gemm, every_f16_is_split_exactly) {
  NG_NEEDS_TILES();
  constexpr std::int64_t rows = 64, columns = 1024;
  for (const bool in_a : {true, false}) {
    GuardedArray values(DType::f16, {rows, columns}), one(DType::f16, {columns, columns}),
        y(DType::f32, {rows, columns});
    for (std::int64_t i = 0; i < one.size(); ++i) one.set(i, i / columns == i % columns ? 1 : 0);
    auto* bits = static_cast<std::uint16_t*>(values.data());
    for (std::int64_t i = 0; i < values.size(); ++i) {
      bits[i] = static_cast<std::uint16_t>(i);
      if (!std::isfinite(values.at(i))) bits[i] = 0;
    }
    const auto turned = [](View view) {
      std::swap(view.dims[0], view.dims[1]);
      std::swap(view.strides[0], view.strides[1]);
      return view;
    };
    GuardedArray y_turned(DType::f32, {columns, rows});
    if (in_a)
      run(prepare_tile_gemm({values.view(), one.view(), y.view(), {}}, {}), {&values, &one}, {&y});
    else
      run(prepare_tile_gemm({one.view(), turned(values.view()), y_turned.view(), {}}, {}),
          {&one, &values}, {&y_turned});
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const double got = in_a ? y.at(i) : y_turned.at(i % columns * rows + i / columns);
      ASSERT_EQ(got, values.at(i)) << "bits " << bits[i];
    }
  }
}

TEST(tile_gemm, counts_results_that_become_zero_in_f16) {
  NG_NEEDS_TILES();
  Product p = product({40, 35, 32}, {DType::f16, DType::f16});
  for (std::int64_t i = 0; i < p.a.size(); ++i)
    p.a.set(i, i % 32 == 0 && i < 32 * 10 ? 0x1p-14 : 0);
  for (std::int64_t i = 0; i < p.b.size(); ++i) p.b.set(i, i % 35 < 7 ? 0x1p-14 : 1);
  const Prepared prepared = prepare_tile_gemm({p.a.view(), p.b.view(), p.y.view(), {}}, {});
  EXPECT_EQ(run(prepared, {&p.a, &p.b}, {&p.y}), 70);
}

TEST(tile_gemm, declines_with_a_reason) {
  const auto reason = [](const Shape3& s, const Formats& f, Order y = Order::plain) {
    const Product p = product(s, f, {.y = y});
    return tile_gemm_reason({p.a.view(), p.b.view(), p.y.view(), {}}, isa());
  };
  if (isa() != Isa::amx) {
    EXPECT_NE(reason({64, 64, 64}, every_format[0]), "");
    return;
  }
  EXPECT_EQ(reason({64, 64, 64}, every_format[0]), "");
  for (const Shape3& s : {Shape3{31, 64, 64}, {64, 31, 64}, {64, 64, 31}})
    EXPECT_NE(reason(s, every_format[0]), "");
  EXPECT_NE(reason({64, 64, 64}, {DType::f64, DType::f64}), "");
  EXPECT_NE(reason({64, 64, 64}, every_format[0], Order::spread), "");
  const Product p = product({31, 64, 64}, every_format[0]);
  EXPECT_THROW(prepare_tile_gemm({p.a.view(), p.b.view(), p.y.view(), {}}, {}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::cpu::tile_gemm_test
