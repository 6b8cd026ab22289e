// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <thread>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/contraction.h"
#include "kernels/each_isa.h"
#include "kernels/matrix.h"

namespace narrowgauge::cpu::matmul_test {
namespace {

struct Case {
  const char* name;
  Dims a, b, y;
  bool bias = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"square", {16, 16}, {16, 16}, {16, 16}},
      {"odd", {7, 13}, {13, 5}, {7, 5}, true},
      {"one row", {1, 64}, {64, 10}, {1, 10}, true},
      {"one column", {64, 10}, {10, 1}, {64, 1}},
      {"inner size 1", {33, 1}, {1, 17}, {33, 17}},
      {"single values", {1, 1}, {1, 1}, {1, 1}, true},
      {"classifier", {128, 64}, {64, 10}, {128, 10}, true},
      {"several shards of rows", {300, 256}, {256, 200}, {300, 200}, true},
      {"several shards of columns", {100, 256}, {256, 500}, {100, 500}, true},
      {"long sum", {4, 3000}, {3000, 4}, {4, 4}},
      {"batch", {6, 8, 16}, {6, 16, 12}, {6, 8, 12}},
      {"two batch axes", {2, 3, 8, 16}, {2, 3, 16, 12}, {2, 3, 8, 12}, true},
      {"shared right", {4, 8, 16}, {16, 12}, {4, 8, 12}, true},
      {"shared right, two axes", {2, 3, 8, 16}, {1, 16, 12}, {2, 3, 8, 12}},
      {"shared left", {8, 16}, {4, 16, 12}, {4, 8, 12}, true},
      {"crossed broadcast", {2, 1, 8, 16}, {1, 3, 16, 12}, {2, 3, 8, 12}, true},
      {"inner broadcast", {2, 3, 8, 16}, {2, 1, 16, 12}, {2, 3, 8, 12}},
      {"outer broadcast", {1, 3, 8, 16}, {2, 3, 16, 12}, {2, 3, 8, 12}},
      {"many small ones", {64, 32, 64}, {64, 64, 32}, {64, 32, 32}},
  };
  return all;
}

std::vector<double> reference(const GuardedArray& a, const GuardedArray& b,
                              const GuardedArray* bias, const Dims& y) {
  const std::vector<double> av = a.values(), bv = b.values();
  const Dims &ad = a.view().dims, &bd = b.view().dims;
  std::vector<double> result(static_cast<std::size_t>(element_count(y)));
  const std::int64_t rows = y[y.size() - 2], columns = y.back(), depth = ad.back();
  const auto batch_offset = [&](const Dims& dims, std::int64_t matrix) {
    std::int64_t offset = 0, step = 1;
    for (std::size_t axis = y.size() - 2; axis-- > 0; matrix /= y[axis]) {
      if (axis + dims.size() < y.size()) continue;
      const std::int64_t size = dims[axis + dims.size() - y.size()];
      offset += size == 1 ? 0 : matrix % y[axis] * step;
      step *= size;
    }
    return offset;
  };
  for (std::int64_t i = 0; i < element_count(y); ++i) {
    const std::int64_t n = i % columns, m = i / columns % rows, matrix = i / columns / rows;
    const std::int64_t from_a = batch_offset(ad, matrix) * rows * depth + m * depth;
    const std::int64_t from_b = batch_offset(bd, matrix) * depth * columns + n;
    double sum = bias ? bias->at(n) : 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += av[static_cast<std::size_t>(from_a + k)] *
             bv[static_cast<std::size_t>(from_b + k * columns)];
    result[static_cast<std::size_t>(i)] = sum;
  }
  return result;
}

struct Choice {
  DType dtype = DType::f32;
  Order a = Order::plain, b = Order::plain, y = Order::plain;
  ContractionOptions options = {};
};

struct Product {
  GuardedArray y;
  std::vector<double> expected;
  std::string implementation;
};

Product multiply(const Case& shape, const Choice& setup) {
  GuardedArray a = matrix(setup.dtype, shape.a, setup.a), b = matrix(setup.dtype, shape.b, setup.b),
               y = matrix(setup.dtype, shape.y, setup.y);
  GuardedArray bias(setup.dtype, {shape.y.back()});
  a.randomize(1), b.randomize(2), bias.randomize(3);
  MatMulViews views{a.view(), b.view(), y.view(), {}};
  if (shape.bias) views.bias = bias.view();
  const Prepared prepared = prepare_matmul(views, setup.options);
  std::vector<const GuardedArray*> inputs{&a, &b};
  if (shape.bias) inputs.push_back(&bias);
  run(prepared, inputs, {&y});
  return {y, reference(a, b, shape.bias ? &bias : nullptr, shape.y), prepared.implementation};
}

TEST(matmul, every_shape_matches_the_reference_in_every_format) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (const Case& shape : cases()) {
      const Product done = multiply(shape, {.dtype = dtype});
      expect_within_format(done.y, done.expected,
                           concat(shape.name, ' ', dtype, ' ', done.implementation));
    }
}

TEST(matmul, every_order_of_the_operands_matches_the_reference) {
  const Order orders[] = {Order::plain, Order::transposed, Order::spread, Order::wide};
  for (const char* name : {"odd", "two batch axes", "crossed broadcast", "one row", "one column",
                           "shared right", "several shards of columns", "inner size 1"})
    for (const Case& shape : cases()) {
      if (std::string(name) != shape.name) continue;
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
        for (const Order order : orders)
          for (const int which : {0, 1, 2}) {
            Choice setup{.dtype = dtype};
            (which == 0 ? setup.a : which == 1 ? setup.b : setup.y) = order;
            const Product done = multiply(shape, setup);
            expect_within_format(done.y, done.expected,
                                 concat(name, ' ', dtype, " order ", static_cast<int>(order),
                                        " of ", which, ' ', done.implementation));
          }
    }
}

TEST(matmul, gives_the_same_bits_for_any_number_of_threads) {
  for (const Case& shape : cases())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      const auto with = [&](int threads) {
        return multiply(shape, {.dtype = dtype, .options = {.threads = threads}});
      };
      const Product one = with(1);
      EXPECT_TRUE(one.y.same_bytes(with(2).y) && one.y.same_bytes(with(3).y))
          << shape.name << ' ' << name(dtype);
    }
}

TEST(matmul, gives_the_same_bits_from_operands_that_are_packed_ahead) {
  for (const Case& shape : cases())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      const Product plain = multiply(shape, {.dtype = dtype});
      const Product ahead = multiply(shape, {.dtype = dtype, .options = {.lasting = {0, 1, 2}}});
      EXPECT_TRUE(ahead.y.same_bytes(plain.y)) << shape.name << ' ' << name(dtype);
    }
}

TEST(matmul, non_finite_input_reaches_its_row_and_no_other) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (const double bad :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      for (const Dims& size : {Dims{7, 13, 5}, Dims{40, 64, 48}, Dims{1, 3, 1}}) {
        GuardedArray a(dtype, {size[0], size[1]}), b(dtype, {size[1], size[2]}),
            y(dtype, {size[0], size[2]});
        a.randomize(1), b.randomize(2);
        a.set(size[0] / 2 * size[1] + size[1] / 2, bad);
        run(prepare_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y});
        for (std::int64_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(std::isfinite(y.at(i)), i / size[2] != size[0] / 2) << name(dtype) << ' ' << i;
      }
}

TEST(matmul, results_beyond_the_format_become_infinite) {
  GuardedArray a(DType::f16, {1, 2}), b(DType::f16, {2, 1}), y(DType::f16, {1, 1});
  a.set(0, 300), a.set(1, 0), b.set(0, 300), b.set(1, 0);
  run(prepare_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y});
  EXPECT_EQ(y.at(0), std::numeric_limits<double>::infinity());
}

TEST(matmul, counts_results_that_become_zero_in_f16) {
  GuardedArray a(DType::f16, {4, 1}), b(DType::f16, {1, 3}), y(DType::f16, {4, 3});
  for (int i = 0; i < 4; ++i) a.set(i, i == 3 ? 0 : 0x1p-20);
  for (int i = 0; i < 3; ++i) b.set(i, i == 2 ? 1 : 0x1p-20);
  const Prepared product = prepare_matmul({a.view(), b.view(), y.view(), {}}, {});
  EXPECT_EQ(run(product, {&a, &b}, {&y}), 6);
}

TEST(matmul, empty_sum_is_the_bias) {
  for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
    GuardedArray a(dtype, {3, 0}), b(dtype, {0, 4}), bias(dtype, {4}), y(dtype, {3, 4});
    bias.randomize(1);
    run(prepare_matmul({a.view(), b.view(), y.view(), bias.view()}, {}), {&a, &b, &bias}, {&y});
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.at(i), bias.at(i % 4));
    run(prepare_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y});
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.at(i), 0);
  }
}

TEST(matmul, refuses_shapes_that_do_not_fit) {
  const auto attempt = [](const Dims& a, const Dims& b, const Dims& y) {
    return prepare_matmul(
        {dense_view(DType::f32, a), dense_view(DType::f32, b), dense_view(DType::f32, y), {}}, {});
  };
  EXPECT_NO_THROW(attempt({2, 3}, {3, 4}, {2, 4}));
  EXPECT_THROW(attempt({2, 3}, {4, 3}, {2, 3}), UsageError);
  EXPECT_THROW(attempt({2, 3}, {3, 4}, {1, 2, 4}), UsageError);
  EXPECT_THROW(attempt({2, 2, 3}, {3, 3, 4}, {3, 2, 4}), UsageError);
  EXPECT_THROW(attempt({3}, {3, 4}, {4}), UsageError);
}

TEST(matmul, two_host_threads_prepare_and_run_at_the_same_time) {
  const Case& shape = cases()[7];
  const Product expected = multiply(shape, {});
  std::vector<std::thread> threads;
  std::array<bool, 2> equal{};
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      equal[i] = true;
      for (int repeat = 0; repeat < 20; ++repeat)
        equal[i] = equal[i] && multiply(shape, {}).y.same_bytes(expected.y);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(equal[0] && equal[1]);
}

// 1729 rows are cut into shards of 96 and one of 1, for which oneDNN has no AMX kernel.
TEST(matmul, bf16_is_widened_where_the_shorter_last_shard_would_not_use_amx) {
  const auto uses_amx = [](std::int64_t rows) {
    const MatMulViews views{dense_view(DType::bf16, {rows, 130}),
                            dense_view(DType::bf16, {130, 512}),
                            dense_view(DType::bf16, {rows, 512}),
                            {}};
    const Prepared prepared = prepare_matmul(views, {});
    return prepared.implementation.find("amx") != std::string::npos;
  };
  if (!uses_amx(1728) || uses_amx(1)) GTEST_SKIP() << "one kernel for all sizes here";
  EXPECT_FALSE(uses_amx(1729));
}

TEST(matmul, tests_pass_under_each_cap_of_the_instruction_set) {
  expect_tests_pass_under_each_isa("matmul.*-*under_each_cap*");
}

}  // namespace
}  // namespace narrowgauge::cpu::matmul_test
