// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/array.h"
#include "kernels/cpu/tiles/tile_gemm.h"
#include "kernels/needs_tiles.h"

namespace narrowgauge::cpu::tile_activation_test {
namespace {

constexpr double half_ulp = 0x1p-8;  // of bf16, relative to the least number with its exponent

double below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double slope(double x) {
  return below(x) + x * std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

GuardedArray rows(std::int64_t m, std::int64_t n) { return {DType::bf16, Dims{m, n}}; }

// y = activation(a b + bias) with what lies beside it: the sums, or x of the gradient.
struct Activated {
  GuardedArray a, b, bias, y, beside;
  GuardedArray sums{DType::f32, {y.view().dims[1]}};

  Activated(std::int64_t m, std::int64_t n, std::int64_t k)
      : a(rows(m, k)), b(rows(k, n)), bias(DType::bf16, {n}), y(rows(m, n)), beside(rows(m, n)) {
    a.randomize(1), b.randomize(2, 1.5 / std::sqrt(double(k))), bias.randomize(3, 0.3);
    beside.randomize(4, 1.5);
  }

  void run(TileActivation activation, int threads = 0, bool whole = true) {
    const Prepared prepared =
        prepare_tile_gemm({a.view(), b.view(), y.view(), bias.view()}, {.threads = threads},
                          TileEpilogue{activation, DType::f32});
    const std::unique_ptr<void, decltype(&std::free)> workspace(
        std::aligned_alloc(64, static_cast<std::size_t>(prepared.workspace + 63) / 64 * 64),
        &std::free);
    const bool back = activation == TileActivation::gelu_gradient;
    const void* const in[] = {a.data(), b.data(), bias.data(), back ? beside.data() : nullptr};
    void* const more = back ? sums.data() : beside.data();
    void* const out[] = {y.data(), whole ? more : nullptr};
    prepared.run({in, out, workspace.get(), nullptr});
  }

  double sum_at(std::int64_t i) const {
    const std::int64_t n = y.view().dims[1], k = a.view().dims[1];
    double sum = bias.at(i % n);
    for (std::int64_t j = 0; j < k; ++j) sum += a.at(i / n * k + j) * b.at(j * n + i % n);
    return sum;
  }
};

// Edges; a contraction in one run; in several chunks; rows that share B; in several runs.
constexpr std::array<std::array<std::int64_t, 3>, 5> shapes = {
    {{33, 47, 95}, {70, 64, 601}, {40, 96, 3400}, {600, 200, 130}, {64, 64, 1200}}};

TEST(tile_activation, gelu_is_that_of_the_sum_which_is_kept) {
  NG_NEEDS_TILES();
  for (const auto& [m, n, k] : shapes) {
    Activated p(m, n, k);
    p.run(TileActivation::gelu);
    for (std::int64_t i = 0; i < p.y.size(); i += m == 600 ? 7 : 1) {
      const double sum = p.sum_at(i), near = 1e-5;
      ASSERT_NEAR(p.beside.at(i), sum, std::abs(sum) * half_ulp + near) << k << " at " << i;
      ASSERT_NEAR(p.y.at(i), sum * below(sum), std::abs(sum * below(sum)) * half_ulp + near)
          << k << " at " << i;
    }
    EXPECT_TRUE(p.y.guards_intact() && p.beside.guards_intact());
    const GuardedArray y = p.y;
    p.run(TileActivation::gelu, 0, false);
    EXPECT_TRUE(p.y.same_bytes(y));
  }
}

TEST(tile_activation, gradient_is_the_sum_times_the_slope_and_its_columns_are_summed) {
  NG_NEEDS_TILES();
  for (const auto& [m, n, k] : shapes) {
    Activated p(m, n, k);
    p.run(TileActivation::gelu_gradient);
    std::vector<double> sums(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < p.y.size(); ++i) {
      const double expected = p.sum_at(i) * slope(p.beside.at(i));
      sums[static_cast<std::size_t>(i % n)] += expected;
      ASSERT_NEAR(p.y.at(i), expected, std::abs(expected) * half_ulp + 1e-4) << k << " at " << i;
    }
    for (std::int64_t j = 0; j < n; ++j)
      ASSERT_NEAR(p.sums.at(j), sums[static_cast<std::size_t>(j)], 1e-4 * double(m)) << j;
    EXPECT_TRUE(p.y.guards_intact() && p.sums.guards_intact());
  }
}

// Every bf16 times one.
TEST(tile_activation, every_value_keeps_its_digits_down_the_left_tail) {
  NG_NEEDS_TILES();
  constexpr std::int64_t m = 64, n = 1024;
  Activated p(m, n, n);
  auto* const bits = static_cast<std::uint16_t*>(p.a.data());
  auto* const gradient = static_cast<std::uint16_t*>(p.beside.data());
  for (std::int64_t i = 0; i < p.a.size(); ++i) {
    bits[i] = static_cast<std::uint16_t>(i);
    if (!std::isfinite(p.a.at(i)) || std::abs(p.a.at(i)) > 1e30) bits[i] = 0;
  }
  for (std::int64_t i = 0; i < p.b.size(); ++i) p.b.set(i, i / n == i % n ? 1 : 0);
  for (std::int64_t j = 0; j < n; ++j) p.bias.set(j, 0);
  p.run(TileActivation::gelu);
  for (std::int64_t i = 0; i < p.a.size(); ++i) {
    const double x = p.a.at(i), exact = x * below(x);
    if (std::abs(x) < 0x1p-100) continue;  // subnormals
    const double bound = x < -13 ? 1e-36 : std::abs(exact) * half_ulp * (1 + 0x1p-6);
    ASSERT_NEAR(p.y.at(i), exact, bound) << x;
  }
  const GuardedArray x = p.a;
  for (std::int64_t i = 0; i < p.a.size(); ++i) gradient[i] = bits[i], p.a.set(i, 1);
  for (std::int64_t i = 0; i < p.b.size(); ++i) p.b.set(i, i / n == 0 ? 1 : 0);
  p.run(TileActivation::gelu_gradient);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double exact = slope(x.at(i));
    ASSERT_NEAR(p.y.at(i), exact, std::abs(exact) * half_ulp + 0x1p-16) << x.at(i);
  }
}

TEST(tile_activation, keeps_nan_and_infinity) {
  NG_NEEDS_TILES();
  Activated p(32, 32, 32);
  p.bias.set(3, std::numeric_limits<double>::quiet_NaN());
  p.bias.set(5, std::numeric_limits<double>::infinity());
  p.run(TileActivation::gelu);
  EXPECT_TRUE(std::isnan(p.y.at(3)));
  EXPECT_EQ(p.y.at(5), std::numeric_limits<double>::infinity());
  p.beside.randomize(4);
  p.beside.set(7, std::numeric_limits<double>::quiet_NaN());
  p.run(TileActivation::gelu_gradient);
  for (const std::int64_t column : {3, 5, 7}) {
    EXPECT_FALSE(std::isfinite(p.y.at(column)));
    EXPECT_FALSE(std::isfinite(p.sums.at(column)));
  }
  EXPECT_TRUE(std::isfinite(p.sums.at(4)));
}

TEST(tile_activation, gives_the_same_bits_for_any_number_of_threads) {
  NG_NEEDS_TILES();
  for (const auto activation : {TileActivation::gelu, TileActivation::gelu_gradient}) {
    Activated one(600, 200, 130);
    Activated two = one, three = one;
    one.run(activation, 1), two.run(activation, 2), three.run(activation, 3);
    EXPECT_TRUE(one.y.same_bytes(two.y) && one.y.same_bytes(three.y));
    EXPECT_TRUE(one.sums.same_bytes(two.sums) && one.sums.same_bytes(three.sums));
  }
}

TEST(tile_activation, declines_with_a_reason) {
  const View a = dense_view(DType::bf16, {64, 64}), f32 = dense_view(DType::f32, {64, 64}),
             batch = dense_view(DType::bf16, {2, 64, 64});
  constexpr TileEpilogue gelu{TileActivation::gelu, DType::f32};
  EXPECT_EQ(tile_epilogue_reason({a, a, a, {}}, gelu), "");
  EXPECT_EQ(tile_epilogue_reason({f32, f32, f32, {}}, {}), "");
  EXPECT_NE(tile_epilogue_reason({f32, f32, f32, {}}, gelu), "");
  EXPECT_NE(tile_epilogue_reason({a, a, f32, {}}, gelu), "");
  EXPECT_NE(tile_epilogue_reason({batch, batch, batch, {}}, gelu), "");
  EXPECT_NE(tile_epilogue_reason({a, a, a, {}}, {TileActivation::gelu_gradient, DType::f64}), "");
}

}  // namespace
}  // namespace narrowgauge::cpu::tile_activation_test
