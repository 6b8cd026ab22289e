// SPDX-License-Identifier: Apache-2.0
#include "quantize/bias_correction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/composition/interpret.h"
#include "ops/convolution/conv.h"
#include "quantize/affine.h"
#include "quantize/values.h"

namespace narrowgauge::bias_correction_test {
namespace {

using namespace testing_values;

Tensor normal_tensor(Dims dims, unsigned seed) {
  const auto count = static_cast<std::size_t>(element_count(dims));
  return Tensor::from(std::move(dims), normal(count, 1, seed));
}

Tensor rounded(const Tensor& weights) { return dequantize_weights(quantize_weights(weights, {})); }

// A convolution of x without padding.
Tensor convolved(const Tensor& x, const Tensor& w, const Tensor& bias, std::int64_t group) {
  Graph graph;
  const Value in = graph.input("x", x.type());
  graph.output("y", graph.add(Conv{.group = group}, {in, graph.constant(w), graph.constant(bias)}));
  return interpret(graph, std::vector{x})[0];
}

// Where the channels of the input are constant, they are their means everywhere.
TEST(bias_correction, convolution_of_means_is_as_with_the_weights_before_rounding) {
  for (const std::int64_t group : {1, 2, 4}) {
    const Tensor w = normal_tensor({8, 4 / group, 3, 3}, 1), bias = normal_tensor({8}, 2);
    const std::vector<double> means{0.5, -2, 3, 0.25};
    Tensor x(DType::f32, {1, 4, 5, 5});
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, means[static_cast<std::size_t>(i / 25)]);
    const std::vector<double> shift = bias_shift(w, rounded(w), means, {.groups = group});
    const Tensor exact = convolved(x, w, bias, group),
                 plain = convolved(x, rounded(w), bias, group),
                 corrected = convolved(x, rounded(w), corrected_bias(bias, shift), group);
    double error = 0, corrected_error = 0;
    for (std::int64_t i = 0; i < exact.size(); ++i) {
      error = std::max(error, std::abs(plain.at(i) - exact.at(i)));
      corrected_error = std::max(corrected_error, std::abs(corrected.at(i) - exact.at(i)));
    }
    EXPECT_GT(error, 0.01);
    EXPECT_LT(corrected_error, 1e-5);
  }
}

TEST(bias_correction, axes_of_matrices) {
  // Columns are output channels: the shift of column j is -sum over i of (r - w)[i, j] * mean[i].
  const Tensor w = Tensor::from<float>({2, 3}, Floats{1, 2, 3, 4, 5, 6}),
               r = Tensor::from<float>({2, 3}, Floats{1.5f, 2, 2.75f, 4, 5.25f, 6});
  const std::vector<double> rows{10, 100}, columns{1, 10, 100};
  EXPECT_EQ(bias_shift(w, r, rows, {.output = 1, .input = 0}), std::vector<double>({-5, -25, 2.5}));
  EXPECT_EQ(bias_shift(w, r, columns), std::vector<double>({24.5, -2.5}));
}

TEST(bias_correction, rounds_once_and_takes_no_bias) {
  const std::vector<double> shift{0.1, -3};
  const Tensor bias = Tensor::from<float>({2}, Floats{1, 3});
  EXPECT_EQ(corrected_bias(bias, shift).at(0), double{1.1f});
  EXPECT_EQ(corrected_bias(bias, shift).at(1), 0);
  EXPECT_EQ(corrected_bias(Tensor(), shift).at(0), double{0.1f});
}

TEST(bias_correction, refuses_sizes_that_do_not_fit) {
  const Tensor w = normal_tensor({4, 2, 3}, 1);
  const std::vector<double> two(2), four(4);
  EXPECT_NO_THROW(bias_shift(w, w, four, {.groups = 2}));
  EXPECT_THROW(bias_shift(w, w, four), UsageError);
  EXPECT_THROW(bias_shift(w, w, two, {.groups = 2}), UsageError);
  EXPECT_THROW(bias_shift(w, normal_tensor({4, 3, 2}, 1), two), UsageError);
  EXPECT_THROW(bias_shift(w, w, two, {.output = 0, .input = 3}), UsageError);
  EXPECT_THROW(bias_shift(w, w, two, {.output = 1, .input = 1}), UsageError);
  EXPECT_THROW(bias_shift(w, w, four, {.output = 1, .input = 0, .groups = 2}), UsageError);
  EXPECT_THROW(bias_shift(w, w, std::vector<double>(6), {.groups = 3}), UsageError);
  EXPECT_THROW(corrected_bias(Tensor(DType::f32, {3}), two), UsageError);
}

}  // namespace
}  // namespace narrowgauge::bias_correction_test
