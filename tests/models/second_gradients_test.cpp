// SPDX-License-Identifier: Apache-2.0
// Losses that depend on gradients: their own gradients against finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::second_gradients_test {
namespace {

using Critic = std::function<Value(Network&, Value)>;

// The mean of (|d critic / dx| - 1)^2 over the samples (Gulrajani et al. 2017).
Objective penalty(const Critic& critic, const Shape& image) {
  return [=](Network& net) {
    Shape shape = image;
    shape.insert(shape.begin(), net.batch());
    const Value x = net.input("x", shape);
    const Value score = net.op("ReduceSum", {critic(net, x)}, "keepdims=0");
    const Value slope = net.flatten(net.gradients(score, {x})[0]);
    const Value axes =
        net.graph().constant(Tensor::from<std::int64_t>({1}, std::vector<std::int64_t>{1}));
    const Value norm = net.op("ReduceL2", {slope, axes}, "keepdims=0");
    const Value one = net.graph().constant(Tensor::scalar(DType::f32, 1));
    const Value off = net.op("Sub", {norm, one});
    return net.op("ReduceMean", {net.op("Mul", {off, off})}, "keepdims=0");
  };
}

void expect_right(const Critic& critic, const Shape& image) {
  const auto build = [=](Network& net) {
    Shape shape = image;
    shape.insert(shape.begin(), net.batch());
    return critic(net, net.input("x", shape));
  };
  Model model("critic", build);
  Step step(model, penalty(critic, image), sgd(1, 0));
  Dims dims = known_dims(image);
  dims.insert(dims.begin(), 3);
  Tensor x(DType::f32, dims);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, std::sin(1.7 * static_cast<double>(i)));
  step.backward(std::span(&x, 1));
  const std::vector<NamedTensor> gradients = step.gradients();
  for (const NamedTensor& gradient : gradients) {
    const Tensor weight = model.state(gradient.name);
    const std::int64_t place = weight.size() / 2;
    constexpr double h = 1e-2;
    const auto loss_at = [&](double value) {
      Tensor moved = weight.clone();
      moved.set(place, value);
      model.set_state(gradient.name, moved);
      const double loss = step.forward(std::span(&x, 1))[0].tensor.at(0);
      model.set_state(gradient.name, weight);
      return loss;
    };
    const double at = weight.at(place);
    const double expected = (loss_at(at + h) - loss_at(at - h)) / (2 * h);
    EXPECT_NEAR(gradient.tensor.at(place), expected, 2e-3 + 2e-2 * std::abs(expected))
        << gradient.name;
  }
}

TEST(second_gradients, of_layers_on_rows) {
  expect_right(
      [](Network& net, Value x) {
        const Value h = net.tanh(net.linear(x, 8, "first"));
        return net.linear(net.sigmoid(net.linear(h, 8, "second")), 1, "last");
      },
      {5});
}

TEST(second_gradients, of_leaky_layers) {
  expect_right(
      [](Network& net, Value x) {
        const Value h = net.op("LeakyRelu", {net.linear(x, 16, "first")}, "alpha=0.2");
        return net.linear(net.relu(net.linear(h, 16, "second")), 1, "last");
      },
      {5});
}

TEST(second_gradients, of_convolutions) {
  expect_right(
      [](Network& net, Value x) {
        const Value h = net.tanh(net.conv(x, 4, {.stride = 2}, "conv"));
        return net.linear(net.flatten(net.average_pool(h)), 1, "last");
      },
      {2, 8, 8});
}

TEST(second_gradients, of_a_value_that_does_not_count_are_zero) {
  Network net("n", Mode::train);
  const Value x = net.input("x", {2}), y = net.input("y", {2});
  const Value sum = net.op("ReduceSum", {y}, "keepdims=0");
  const Values found = net.gradients(sum, {x, y});
  EXPECT_EQ(net.graph().type(found[0]), net.graph().type(x));
  EXPECT_THROW(net.gradients(y, {x}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::second_gradients_test
