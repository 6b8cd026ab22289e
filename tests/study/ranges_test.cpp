// SPDX-License-Identifier: Apache-2.0
#include "study/ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "api/small_training.h"

namespace narrowgauge::ranges_test {
namespace {

constexpr std::int64_t samples = 2, features = 3, classes = 2;
const std::vector<float> x{1, -0.5F, 0.5F, 0, 0.75F, -0.25F}, w{0.5F, -1, 2, 0.125F, 0.75F, -3},
    b{0.25F, -0.0625F};
const std::vector<std::int64_t> labels{0, 1};

struct Magnitudes {
  double smallest = INFINITY, largest = 0;
  void add(double value) {
    if (value == 0) return;
    smallest = std::min(smallest, std::abs(value));
    largest = std::max(largest, std::abs(value));
  }
};

// Scores, and the gradients of the mean cross entropy, by their formulas in f64.
struct Expected {
  Magnitudes weights, scores, score_gradients, weight_gradients;

  explicit Expected(double scale) {
    for (const float each : w) weights.add(each);
    for (const float each : b) weights.add(each);
    std::array<double, classes * features> of_w{};
    std::array<double, classes> of_b{};
    for (std::size_t n = 0; n < samples; ++n) add_sample(n, scale, of_w, of_b);
    for (const double each : of_w) weight_gradients.add(each);
    for (const double each : of_b) weight_gradients.add(each);
  }

  void add_sample(std::size_t n, double scale, std::array<double, classes * features>& of_w,
                  std::array<double, classes>& of_b) {
    std::array<double, classes> y{};
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      y[c] = b[c];
      for (std::size_t k = 0; k < features; ++k)
        y[c] += double{w[c * features + k]} * x[n * features + k];
      scores.add(y[c]);
      sum += std::exp(y[c]);
    }
    for (std::size_t c = 0; c < classes; ++c) {
      const bool right = labels[n] == static_cast<std::int64_t>(c);
      const double g = scale * (std::exp(y[c]) / sum - right) / samples;
      score_gradients.add(g);
      of_b[c] += g;
      for (std::size_t k = 0; k < features; ++k) of_w[c * features + k] += g * x[n * features + k];
    }
  }
};

Model network() {
  Model model("linear", [](Network& net) {
    return net.linear(net.input("x", {net.batch(), features}), classes, "last");
  });
  model.set_state("last.weight", Tensor::from({classes, features}, w));
  model.set_state("last.bias", Tensor::from({classes}, b));
  return model;
}

std::vector<Tensor> batch() {
  return {Tensor::from({samples, features}, x), Tensor::from({samples}, labels)};
}

void expect_range(const ValueRange& range, const Magnitudes& expected, std::int64_t values) {
  EXPECT_EQ(range.census.values(), values);
  EXPECT_NEAR(range.smallest, expected.smallest, 1e-5 * expected.smallest);
  EXPECT_NEAR(range.largest, expected.largest, 1e-5 * expected.largest);
}

TEST(layer_ranges, are_those_of_the_formulas) {
  Model model = network();
  for (const double scale : {1.0, 1024.0}) {
    const auto layers = layer_ranges(model, softmax_cross_entropy(), batch(), scale);
    const Expected expected(scale);
    ASSERT_EQ(layers.size(), 1U);
    EXPECT_EQ(layers[0].name, "last");
    EXPECT_EQ(layers[0].op, "Gemm");
    expect_range(layers[0].weights, expected.weights, classes * features + classes);
    expect_range(layers[0].activations, expected.scores, samples * classes);
    expect_range(layers[0].output_gradients, expected.score_gradients, samples * classes);
    expect_range(layers[0].parameter_gradients, expected.weight_gradients,
                 classes * features + classes);
  }
}

TEST(layer_ranges, count_what_a_narrow_format_would_lose) {
  Model model = network();
  const auto small = layer_ranges(model, softmax_cross_entropy(), batch(), 1e-9);
  const ValueRange& gradients = small[0].output_gradients;
  EXPECT_EQ(gradients.f16().of(Fate::flushed), samples * classes);
  EXPECT_EQ(gradients.bf16().of(Fate::flushed), 0);
  const auto large = layer_ranges(model, softmax_cross_entropy(), batch(), 1e9);
  EXPECT_EQ(large[0].output_gradients.f16().too_large(), samples * classes);
  EXPECT_EQ(large[0].output_gradients.bf16().too_large(), 0);
}

TEST(layer_ranges, without_a_batch_are_those_of_the_weights) {
  Model model = network();
  const auto layers = layer_ranges(model, softmax_cross_entropy(), {}, 1);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_FALSE(layers[0].weights.is_empty());
  EXPECT_EQ(layers[0].activations.census.values(), 0);
  EXPECT_TRUE(layers[0].output_gradients.is_empty());
}

TEST(layer_ranges, change_no_state) {
  Model model("small", small_network());
  const auto tensors = small_batch(0);
  const std::string before = model.sha256();
  const auto layers = layer_ranges(model, softmax_cross_entropy(), tensors, 1);
  EXPECT_EQ(model.sha256(), before);
  EXPECT_EQ(layers.size(), 4U);  // two convolutions, a normalization and a product
  for (const LayerRanges& layer : layers) {
    EXPECT_FALSE(layer.activations.is_empty()) << layer.name;
    EXPECT_FALSE(layer.output_gradients.is_empty()) << layer.name;
  }
}

}  // namespace
}  // namespace narrowgauge::ranges_test
