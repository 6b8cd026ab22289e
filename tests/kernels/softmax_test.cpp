// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/softmax.h"

#include <limits>

#include "base/threads/parallel.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::softmax_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<AxisLayout> layouts() {
  return {{1, 1, 1},  {5, 7, 1},   {64, 10, 1}, {3, 1000, 1}, {2, 5000, 1},
          {3, 7, 17}, {2, 10, 49}, {4, 17, 2},  {2, 9, 1000}, {1, 600, 300}};
}

// body(place of position 0, index of the column) for every column.
template <class Body>
void for_columns(const AxisLayout& layout, const Body& body) {
  for (std::int64_t o = 0; o < layout.outer; ++o)
    for (std::int64_t i = 0; i < layout.inner; ++i)
      body(std::size_t(o * layout.axis * layout.inner + i), std::size_t(o * layout.inner + i));
}

std::vector<double> log_softmax(const AxisLayout& layout, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for_columns(layout, [&](std::size_t at, std::size_t) {
    double largest = -infinity, sum = 0;
    const auto step = std::size_t(layout.inner), end = at + std::size_t(layout.axis) * step;
    for (std::size_t k = at; k < end; k += step) largest = std::max(largest, x[k]);
    for (std::size_t k = at; k < end; k += step) sum += std::exp(x[k] - largest);
    for (std::size_t k = at; k < end; k += step) y[k] = x[k] - largest - std::log(sum);
  });
  return y;
}

std::vector<double> softmax(const AxisLayout& layout, const std::vector<double>& x) {
  std::vector<double> y = log_softmax(layout, x);
  for (double& value : y) value = std::exp(value);
  return y;
}

std::string describe(const AxisLayout& l, DType dtype) {
  return concat(dtype, " ", l.outer, "x", l.axis, "x", l.inner);
}

TEST(softmax, forward_agrees_with_double_loops) {
  for (const AxisLayout& layout : layouts())
    for (const DType dtype : storage_dtypes) {
      const Tensor x = random_tensor(dtype, layout.size(), 1, 50, 10);
      Tensor y(dtype, {layout.size()});
      softmax_forward(SoftmaxKind::softmax, layout, view(x), view(y));
      expect_close(y, softmax(layout, doubles(x)), 4e-6, 1e-38, describe(layout, dtype));
      softmax_forward(SoftmaxKind::log_softmax, layout, view(x), view(y));
      expect_close(y, log_softmax(layout, doubles(x)), 1e-6, 2e-6, describe(layout, dtype));
    }
}

TEST(softmax, backward_agrees_with_double_loops) {
  for (const AxisLayout& layout : layouts())
    for (const DType dtype : storage_dtypes)
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
        const bool is_log = kind == SoftmaxKind::log_softmax;
        Tensor y(dtype, {layout.size()}), dx(dtype, {layout.size()});
        const Tensor x = random_tensor(dtype, layout.size(), 1);
        const Tensor gradient = random_tensor(dtype, layout.size(), 2);
        softmax_forward(kind, layout, view(x), view(y));
        softmax_backward(kind, layout, view(y), view(gradient), view(dx));
        const std::vector<double> out = doubles(y), dy = doubles(gradient);
        std::vector<double> expected(out.size());
        for_columns(layout, [&](std::size_t at, std::size_t) {
          const auto step = std::size_t(layout.inner), end = at + std::size_t(layout.axis) * step;
          double sum = 0;
          for (std::size_t k = at; k < end; k += step) sum += is_log ? dy[k] : dy[k] * out[k];
          for (std::size_t k = at; k < end; k += step)
            expected[k] = is_log ? dy[k] - std::exp(out[k]) * sum : out[k] * (dy[k] - sum);
        });
        expect_close(dx, expected, 1e-6, 1e-5, describe(layout, dtype));
      }
}

TEST(softmax, works_in_place) {
  const AxisLayout layout{30, 700, 1};
  Tensor x = random_tensor(DType::f32, layout.size(), 1), y(DType::f32, {layout.size()});
  softmax_forward(SoftmaxKind::softmax, layout, view(std::as_const(x)), view(y));
  softmax_forward(SoftmaxKind::softmax, layout, view(std::as_const(x)), view(x));
  EXPECT_TRUE(x.same_bits(y));
}

TEST(softmax, spreads_nan_and_masks_minus_infinity) {
  for (const DType dtype : storage_dtypes)
    for (const AxisLayout& layout : {AxisLayout{3, 40, 1}, AxisLayout{1, 40, 3}}) {
      Tensor x = random_tensor(dtype, 120, 1), y(dtype, {120});
      const auto at = [&](std::int64_t column, std::int64_t a) {
        return layout.inner == 1 ? column * 40 + a : a * 3 + column;
      };
      x.set(at(0, 33), std::numeric_limits<double>::quiet_NaN());
      x.set(at(1, 5), -infinity);
      x.set(at(2, 5), infinity);
      softmax_forward(SoftmaxKind::softmax, layout, view(std::as_const(x)), view(y));
      double sum = 0;
      for (std::int64_t a = 0; a < 40; ++a) {
        EXPECT_TRUE(std::isnan(y.at(at(0, a))));
        EXPECT_TRUE(std::isnan(y.at(at(2, 5))));
        sum += y.at(at(1, a));
      }
      EXPECT_EQ(y.at(at(1, 5)), 0);
      EXPECT_NEAR(sum, 1, 0.02);
      softmax_forward(SoftmaxKind::log_softmax, layout, view(std::as_const(x)), view(y));
      EXPECT_EQ(y.at(at(1, 5)), -infinity);
      EXPECT_TRUE(std::isnan(y.at(at(0, 0))));
    }
}

TEST(softmax, huge_and_tiny_logits_stay_finite) {
  const AxisLayout layout{1, 4, 1};
  const Tensor x = Tensor::from<float>({4}, std::vector<float>{3e38F, -3e38F, 0, 3e38F});
  Tensor y(DType::f32, {4});
  softmax_forward(SoftmaxKind::softmax, layout, view(x), view(y));
  expect_close(y, {0.5, 0, 0, 0.5}, 1e-6, 0);
}

struct Losses {
  std::vector<double> loss, weight;
};

struct EntropyProblem {
  AxisLayout layout;
  Tensor logits, weights;
  std::vector<std::int64_t> labels;

  EntropyProblem(const AxisLayout& l, DType dtype)
      : layout(l),
        logits(random_tensor(dtype, l.size(), 1, 3, 4)),
        weights(random_tensor(DType::f32, l.axis, 2, 1, 0.2)) {
    for (std::int64_t i = 0; i < l.outer * l.inner; ++i)
      labels.push_back(i % 5 == 3 ? -100 : (i * 7) % l.axis);
  }
  CrossEntropy common(bool weighted) const {
    return {.layout = layout,
            .labels = labels.data(),
            .weights = weighted ? floats(weights) : nullptr,
            .ignores = true,
            .ignored = -100};
  }
  double weight(std::size_t row, bool weighted) const {
    return labels[row] < 0 ? 0 : weighted ? weights.at(labels[row]) : 1;
  }
  Losses losses(bool weighted) const {
    const std::vector<double> log = log_softmax(layout, doubles(logits));
    Losses losses{std::vector<double>(labels.size()), std::vector<double>(labels.size())};
    for_columns(layout, [&](std::size_t at, std::size_t row) {
      losses.weight[row] = weight(row, weighted);
      if (labels[row] >= 0)
        losses.loss[row] = -losses.weight[row] * log[at + std::size_t(labels[row] * layout.inner)];
    });
    return losses;
  }
};

TEST(cross_entropy, forward_agrees_with_double_loops) {
  for (const AxisLayout& layout : layouts())
    for (const DType dtype : storage_dtypes)
      for (const bool weighted : {false, true}) {
        EntropyProblem p(layout, dtype);
        const std::int64_t rows = layout.outer * layout.inner;
        Tensor loss(DType::f32, {rows}), weight(DType::f32, {rows});
        Tensor log(DType::f32, {layout.size()});
        cross_entropy_forward({p.common(weighted), view(std::as_const(p.logits)), floats(loss),
                               floats(weight), view(log)});
        const Losses expected = p.losses(weighted);
        expect_close(loss, expected.loss, 1e-6, 2e-6, describe(layout, dtype));
        expect_close(weight, expected.weight, 0, 0, describe(layout, dtype));
        expect_close(log, log_softmax(layout, doubles(p.logits)), 1e-6, 2e-6, "log");
      }
}

TEST(cross_entropy, backward_agrees_with_double_loops) {
  for (const AxisLayout& layout : layouts())
    for (const DType dtype : storage_dtypes)
      for (const bool one_gradient : {false, true}) {
        EntropyProblem p(layout, dtype);
        const std::int64_t rows = layout.outer * layout.inner;
        const Tensor gradient = random_tensor(DType::f32, rows, 5);
        Tensor dx(dtype, {layout.size()});
        cross_entropy_backward({.common = p.common(true),
                                .logits = view(std::as_const(p.logits)),
                                .loss_gradient = floats(gradient),
                                .one_loss_gradient = one_gradient,
                                .factor = 0.25F,
                                .logits_gradient = view(dx)});
        std::vector<double> expected = softmax(layout, doubles(p.logits));
        for_columns(layout, [&](std::size_t at, std::size_t row) {
          const double factor =
              0.25 * p.weight(row, true) * gradient.at(one_gradient ? 0 : std::int64_t(row));
          if (p.labels[row] >= 0) expected[at + std::size_t(p.labels[row] * layout.inner)] -= 1;
          for (std::int64_t a = 0; a < layout.axis; ++a)
            expected[at + std::size_t(a * layout.inner)] *= factor;
        });
        expect_close(dx, expected, 1e-5, 1e-6, describe(layout, dtype));
      }
}

TEST(cross_entropy, any_number_may_be_the_ignored_label) {
  const AxisLayout layout{2, 5000, 1};
  for (const std::int64_t ignored :
       {std::numeric_limits<std::int64_t>::min() + 1, std::numeric_limits<std::int64_t>::max()}) {
    EntropyProblem p(layout, DType::f32);
    p.labels = {ignored, ignored};
    CrossEntropy common = p.common(false);
    common.ignored = ignored;
    const Tensor gradient = random_tensor(DType::f32, 2, 5);
    Tensor dx(DType::f32, {layout.size()});
    cross_entropy_backward({.common = common,
                            .logits = view(std::as_const(p.logits)),
                            .loss_gradient = floats(gradient),
                            .logits_gradient = view(dx)});
    for (const double value : doubles(dx)) ASSERT_EQ(value, 0);
  }
}

TEST(cross_entropy, a_label_outside_the_classes_is_a_data_error) {
  EntropyProblem p({4, 10, 1}, DType::f32);
  Tensor loss(DType::f32, {4});
  for (const std::int64_t label : {std::int64_t{-1}, std::int64_t{10}}) {
    p.labels[2] = label;
    EXPECT_THROW(
        cross_entropy_forward({p.common(false), view(std::as_const(p.logits)), floats(loss)}),
        DataError);
  }
}

TEST(softmax, bits_do_not_depend_on_the_number_of_threads) {
  for (const AxisLayout& layout : {AxisLayout{500, 300, 1}, AxisLayout{9, 30, 700}}) {
    std::vector<Tensor> results;
    for (const int threads : {1, 2}) {
      const ThreadScope scope(threads);
      const Tensor x = random_tensor(DType::bf16, layout.size(), 1);
      Tensor y(DType::bf16, {layout.size()});
      softmax_forward(SoftmaxKind::softmax, layout, view(x), view(y));
      results.push_back(y);
    }
    EXPECT_TRUE(results[0].same_bits(results[1]));
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::softmax_test
