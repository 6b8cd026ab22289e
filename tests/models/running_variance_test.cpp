// SPDX-License-Identifier: Apache-2.0
// What training makes of the running variance, against sums in f64.
#include <gtest/gtest.h>

#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::running_variance_test {
namespace {

constexpr std::int64_t channels = 3;

Tensor images(std::int64_t batch, std::int64_t side) {
  Tensor x(DType::f32, {batch, channels, side, side});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.set(i, static_cast<double>(i * 73 % 211) / 100 + static_cast<double>(i % 7));
  return x;
}

// 0.9 * 1 + 0.1 * the batch's, divided by `less` less than the number of elements.
double expected_variance(const Tensor& x, std::int64_t channel, std::int64_t less) {
  const std::int64_t inner = x.dims()[2] * x.dims()[3], count = x.dims()[0] * inner;
  double sum = 0, squares = 0;
  const auto each = [&](const auto& visit) {
    for (std::int64_t n = 0; n < x.dims()[0]; ++n)
      for (std::int64_t i = 0; i < inner; ++i) visit(x.at((n * channels + channel) * inner + i));
  };
  each([&](double value) { sum += value; });
  const double mean = sum / static_cast<double>(count);
  each([&](double value) { squares += (value - mean) * (value - mean); });
  return 0.9 + 0.1 * squares / static_cast<double>(std::max<std::int64_t>(1, count - less));
}

// A model trained with a Relu, which is fused with the normalization, or without.
Model trained(RunningVariance variance, const Tensor& x, bool relu) {
  Model model("norm", [&](Network& net) {
    net.set_running_variance(variance);
    Value y =
        net.batch_norm(net.input("x", {net.batch(), channels, x.dims()[2], x.dims()[3]}), "norm");
    if (relu) y = net.relu(y);
    return net.linear(net.flatten(y), 2, "fc");
  });
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  const std::vector<Tensor> batch{x, Tensor(DType::i64, {x.dims()[0]})};
  trainer.step(batch);
  return model;
}

struct Case {
  std::int64_t batch, side;
  bool relu;
};
class RunningVariances : public testing::TestWithParam<Case> {};

TEST_P(RunningVariances, are_those_of_onnx_and_of_pytorch) {
  const Case& shape = GetParam();
  const Tensor x = images(shape.batch, shape.side);
  const Model biased = trained(RunningVariance::biased, x, shape.relu);
  const Model unbiased = trained(RunningVariance::unbiased, x, shape.relu);
  for (std::int64_t c = 0; c < channels; ++c) {
    EXPECT_NEAR(biased.state("norm.running_var").at(c), expected_variance(x, c, 0), 1e-6);
    EXPECT_NEAR(unbiased.state("norm.running_var").at(c), expected_variance(x, c, 1), 1e-6);
  }
  EXPECT_TRUE(biased.state("norm.running_mean").same_bits(unbiased.state("norm.running_mean")));
  EXPECT_TRUE(biased.state("fc.weight").same_bits(unbiased.state("fc.weight")));
}

INSTANTIATE_TEST_SUITE_P(Each, RunningVariances,
                         testing::Values(Case{2, 1, false}, Case{2, 1, true}, Case{4, 3, false},
                                         Case{4, 3, true}, Case{1, 1, false}, Case{1, 1, true}));

bool is_unbiased(const Graph& graph) { return print(graph).find("unbiased=") != std::string::npos; }

TEST(running_variance, is_pytorchs_in_the_networks_with_its_names) {
  for (const char* name : {"resnet18", "resnet50", "densenet121", "mobilenet_v2"}) {
    const Model model(name, find_model(name, {3, 64, 64}, 10));
    EXPECT_TRUE(is_unbiased(model.graph(Mode::train))) << name;
    EXPECT_FALSE(is_unbiased(model.graph(Mode::evaluate))) << name;
  }
  const Model ours("resnet20", find_model("resnet20", {3, 32, 32}, 10));
  EXPECT_FALSE(is_unbiased(ours.graph(Mode::train)));
}

}  // namespace
}  // namespace narrowgauge::running_variance_test
