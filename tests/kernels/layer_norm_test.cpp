// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/layer_norm.h"

#include <limits>
#include <optional>

#include "base/threads/parallel.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::layer_norm_test {
namespace {

std::vector<RowLayout> layouts() {
  return {{1, 1}, {3, 7}, {1000, 17}, {9, 768}, {70, 1000}, {2, 5001}, {300, 512}};
}

struct Problem {
  RowLayout layout;
  Tensor x, y, scale, bias, mean, inverse_std;
  std::optional<Tensor> other;  // added to x

  Problem(const RowLayout& l, DType dtype, double center = 0.5, double deviation = 2)
      : layout(l),
        x(random_tensor(dtype, l.rows * l.columns, 1, center, deviation)),
        y(dtype, {l.rows * l.columns}),
        scale(random_tensor(dtype, l.columns, 2, 1, 0.2)),
        bias(random_tensor(dtype, l.columns, 3)),
        mean(DType::f32, {l.rows}),
        inverse_std(DType::f32, {l.rows}) {}

  std::size_t at(std::int64_t row, std::int64_t column) const {
    return std::size_t(row * layout.columns + column);
  }
  void forward() {
    auto space = workspace(layer_norm_workspace(layout));
    ResidualSum residual;
    if (other) residual.other = view(std::as_const(*other));
    layer_norm_forward({layout, view(std::as_const(x)), view(y), view(std::as_const(scale)),
                        view(std::as_const(bias)), 1e-5F, floats(mean), floats(inverse_std),
                        other ? &residual : nullptr},
                       space.data());
  }
  void check(double relative, double absolute) const {
    std::vector<double> means, inverses, expected(std::size_t(x.size()));
    std::vector<double> value = doubles(x);
    if (other)
      for (std::size_t i = 0; i < value.size(); ++i) value[i] += other->at(std::int64_t(i));
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      double m = 0, variance = 0;
      const auto count = double(layout.columns);
      for (std::int64_t c = 0; c < layout.columns; ++c) m += value[at(row, c)] / count;
      for (std::int64_t c = 0; c < layout.columns; ++c)
        variance += (value[at(row, c)] - m) * (value[at(row, c)] - m) / count;
      means.push_back(m);
      inverses.push_back(1 / std::sqrt(variance + double(1e-5F)));
      for (std::int64_t c = 0; c < layout.columns; ++c)
        expected[at(row, c)] = (value[at(row, c)] - m) * inverses.back() * scale.at(c) + bias.at(c);
    }
    expect_close(mean, means, relative, 1e-6, "mean");
    expect_close(inverse_std, inverses, relative, 0, "inverse std");
    expect_close(y, expected, relative, absolute, "y");
  }
};

TEST(layer_norm, forward_agrees_with_double_loops) {
  for (const RowLayout& layout : layouts())
    for (const DType dtype : storage_dtypes) {
      Problem p(layout, dtype);
      p.forward();
      p.check(2e-6, 4e-6);
    }
}

TEST(layer_norm, keeps_digits_where_the_mean_is_a_million_deviations) {
  Problem p({20, 1500}, DType::f32, 1e4, 1e-2);
  p.forward();
  p.check(1e-5, 1e-5);
}

Tensor widened(const Tensor& x) {
  Tensor wide(DType::f32, {x.size()});
  for (std::int64_t i = 0; i < x.size(); ++i) wide.set(i, x.at(i));
  return wide;
}

// Sums of rows of bf16 are measured while they are made, where rows are whole sixteens.
TEST(layer_norm, sums_of_narrow_rows_have_the_bits_of_wide_ones) {
  for (const RowLayout& layout : layouts())
    for (const DType dtype : {DType::bf16, DType::f32})
      for (const DType result : {DType::bf16, DType::f32}) {
        if (layout.columns > most_residual_columns) continue;
        Problem p(layout, DType::bf16);
        p.other = random_tensor(dtype, p.x.size(), 4, -1, 3);
        p.y = Tensor(result, {p.x.size()});
        p.forward();
        p.check(2e-6, 4e-6);
        Problem wide = p;
        wide.x = widened(p.x);
        wide.forward();
        EXPECT_TRUE(p.y.same_bits(wide.y)) << layout.columns;
        EXPECT_TRUE(p.mean.same_bits(wide.mean)) << layout.columns;
      }
}

struct Gradients {
  Tensor dy, dx, scale_gradient, bias_gradient;
  explicit Gradients(Problem& p)
      : dy(random_tensor(p.x.dtype(), p.x.size(), 5, 0.1)),
        dx(p.x.dtype(), {p.x.size()}),
        scale_gradient(DType::f32, {p.layout.columns}),
        bias_gradient(DType::f32, {p.layout.columns}) {
    auto space = workspace(layer_norm_backward_workspace(p.layout));
    layer_norm_backward({p.layout, view(std::as_const(dy)), view(std::as_const(p.x)),
                         view(std::as_const(p.scale)), floats(p.mean), floats(p.inverse_std),
                         view(dx), view(scale_gradient), view(bias_gradient)},
                        space.data());
  }
};

TEST(layer_norm, backward_agrees_with_double_loops) {
  for (const RowLayout& layout : layouts())
    for (const DType dtype : storage_dtypes) {
      Problem p(layout, dtype);
      p.forward();
      const Gradients g(p);
      const std::vector<double> x = doubles(p.x), dy = doubles(g.dy), scale = doubles(p.scale);
      std::vector<double> dx(x.size()), scale_gradient(scale.size()), bias_gradient(scale.size());
      for (std::int64_t row = 0; row < layout.rows; ++row) {
        const double mean = p.mean.at(row), inverse = p.inverse_std.at(row);
        double sum = 0, product = 0;
        for (std::size_t c = 0; c < scale.size(); ++c) {
          const std::size_t at = p.at(row, std::int64_t(c));
          const double normal = (x[at] - mean) * inverse;
          sum += dy[at] * scale[c] / double(scale.size());
          product += dy[at] * scale[c] * normal / double(scale.size());
          scale_gradient[c] += dy[at] * normal;
          bias_gradient[c] += dy[at];
        }
        for (std::size_t c = 0; c < scale.size(); ++c) {
          const std::size_t at = p.at(row, std::int64_t(c));
          dx[at] = inverse * (dy[at] * scale[c] - sum - (x[at] - mean) * inverse * product);
        }
      }
      expect_close(g.dx, dx, 3e-6, layout.columns == 1 ? 1e-3 : 3e-6, "dx");
      expect_close(g.scale_gradient, scale_gradient, 1e-5, 1e-5, "scale gradient");
      expect_close(g.bias_gradient, bias_gradient, 1e-5, 1e-5, "bias gradient");
    }
}

TEST(layer_norm, a_nan_stays_in_its_row) {
  Problem p({4, 700}, DType::bf16);
  p.x.set(2 * 700 + 600, std::numeric_limits<double>::quiet_NaN());
  p.forward();
  for (std::int64_t i = 0; i < p.y.size(); ++i) ASSERT_EQ(std::isnan(p.y.at(i)), i / 700 == 2) << i;
}

TEST(layer_norm, what_is_not_finite_stays_in_its_row_of_a_sum) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const std::int64_t column : {0, 600}) {
      Problem p({4, 704}, DType::bf16);
      p.other = random_tensor(DType::bf16, p.x.size(), 4);
      p.other->set(2 * 704 + column, bad);
      p.forward();
      for (std::int64_t i = 0; i < p.y.size(); ++i)
        ASSERT_EQ(std::isnan(p.y.at(i)), i / 704 == 2) << i;
    }
}

TEST(layer_norm, bits_do_not_depend_on_the_number_of_threads) {
  std::vector<Tensor> first;
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    Problem p({1000, 130}, DType::f16);
    p.forward();
    const Gradients g(p);
    const std::vector<Tensor> all{p.y, g.dx, g.scale_gradient, g.bias_gradient};
    if (first.empty()) first = all;
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(first[i].same_bits(all[i])) << i;
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::layer_norm_test
