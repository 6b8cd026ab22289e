// SPDX-License-Identifier: Apache-2.0
// GradScaler against PyTorch's, on what grad_scaler_traces.py has written down.
#include "narrowgauge/grad_scaler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/small_training.h"

namespace narrowgauge::grad_scaler_test {
namespace {

// A model with a weight for each step; the gradient of step i's loss is its input.
struct Weights {
  explicit Weights(std::size_t count)
      : model("weights", [count](Network& net) {
          Value sum = net.input("x", {2});
          for (std::size_t i = 0; i < count; ++i)
            sum = net.add(sum, net.parameter(name(i), {2}, Initial::constant(0)));
          return sum;
        }) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto objective = [i](Network& net) {
        const Value x = net.input("x", {2});
        const Value product = net.op("Mul", {x, net.parameter(name(i), {2}, Initial::constant(0))});
        return net.op("ReduceSum", {product}, "keepdims=0");
      };
      steps.emplace_back(model, objective, sgd(0.25, 0), StepOptions{.name = name(i) + "-step"});
    }
  }
  static std::string name(std::size_t i) { return concat("w", i); }
  bool changed(std::size_t i) {
    const bool other = model.state(name(i)).at(0) != 0;
    model.set_state(name(i), Tensor(DType::f32, {2}));
    return other;
  }

  Model model;
  std::deque<Step> steps;
};

// "inf", "nanu", ...: the gradient, and whether it is unscaled apart.
void take(GradScaler& scaler, Step& step, const std::string& word) {
  const bool apart = word.back() == 'u';
  const double gradient = word[0] == 'i' ? INFINITY : word[0] == 'n' ? NAN : 1;
  const Tensor x = Tensor::full(DType::f32, {2}, gradient);
  scaler.backward(step, std::span(&x, 1));
  if (apart) scaler.unscale(step);
  scaler.step(step);
}

// One iteration; what PyTorch had after it stands behind the colon.
void replay(GradScaler& scaler, Weights& weights, const std::string& line) {
  SCOPED_TRACE(line);
  std::istringstream words(line);
  std::string word;
  std::size_t place = 0;
  while (words >> word && word != ":") {
    if (word == "interval") {
      std::int64_t interval = 0;
      words >> interval;
      scaler.set_growth_interval(interval);
      continue;
    }
    if (word != "-") take(scaler, weights.steps.at(place), word);
    ++place;
  }
  scaler.update();
  double scale = 0;
  std::int64_t tracker = 0;
  words >> scale >> tracker;
  EXPECT_EQ(scaler.scale(), scale);
  EXPECT_EQ(scaler.growth_tracker(), tracker);
  for (std::size_t i = 0; i < place; ++i) {
    int changed = 0;
    words >> changed;
    EXPECT_EQ(weights.changed(i), changed == 1) << "weight " << i;
  }
}

std::ifstream traces() {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  return std::ifstream(std::filesystem::path(root ? root : ".") /
                       "tests/api/grad_scaler_traces.txt");
}

TEST(grad_scaler, does_what_that_of_pytorch_does) {
  std::ifstream file = traces();
  ASSERT_TRUE(file);
  Weights weights(3);
  GradScaler scaler;
  int sequences = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("scaler ")) {
      replay(scaler, weights, line);
      continue;
    }
    std::istringstream words(line.substr(7));
    GradScalerOptions options;
    words >> options.enabled >> options.initial >> options.growth >> options.backoff >>
        options.growth_interval;
    scaler = GradScaler(options);
    ++sequences;
  }
  EXPECT_EQ(sequences, 24);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(grad_scaler, refuses_calls_out_of_turn) {
  Weights weights(1);
  Step& step = weights.steps[0];
  GradScaler scaler;
  const Tensor x = Tensor::full(DType::f32, {2}, 1);
  EXPECT_NE(refusal([&] { scaler.update(); }).find("without a step"), std::string::npos);
  scaler.backward(step, std::span(&x, 1));
  scaler.unscale(step);
  EXPECT_NE(refusal([&] { scaler.unscale(step); }).find("since the last update"),
            std::string::npos);
  EXPECT_TRUE(scaler.step(step));
  EXPECT_NE(refusal([&] { scaler.step(step); }).find("taken already"), std::string::npos);
  EXPECT_NE(refusal([&] { scaler.unscale(step); }), "");
  scaler.update(512.0);
  EXPECT_EQ(scaler.scale(), 512);
  EXPECT_THROW(GradScaler({.growth = 1}), UsageError);
  EXPECT_THROW(GradScaler({.backoff = 1}), UsageError);
  EXPECT_THROW(GradScaler({.initial = -1}), UsageError);
  EXPECT_THROW(GradScaler({.growth_interval = 0}), UsageError);
  GradScaler other;
  other.set_state(scaler.state());
  EXPECT_EQ(other.state(), scaler.state());
}

Objective classifying() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

Optimizer in_f16(LossScale::Kind kind) {
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, DType::f16);
  optimizer.loss_scale.kind = kind;
  optimizer.loss_scale.initial = 1024;
  return optimizer;
}

// Scaled by both, gradients would overflow.
TEST(grad_scaler, scales_a_step_in_f16_that_was_left_to_choose_alone) {
  Model chooses("net", small_network()), leaves("net", small_network());
  Step automatic(chooses, classifying(), in_f16(LossScale::Kind::automatic),
                 {.deterministic = true});
  Step off(leaves, classifying(), in_f16(LossScale::Kind::off), {.deterministic = true});
  EXPECT_GT(automatic.loss_scale(), 1);
  GradScaler first({.initial = 1024}), second({.initial = 1024});
  for (std::uint64_t i = 0; i < 30; ++i) {
    first.backward(automatic, small_batch(i));
    second.backward(off, small_batch(i));
    EXPECT_TRUE(first.step(automatic)) << i;
    EXPECT_TRUE(second.step(off)) << i;
    first.update();
    second.update();
  }
  EXPECT_EQ(automatic.loss_scale(), 1);
  EXPECT_EQ(automatic.applied_steps(), 30);
  EXPECT_EQ(chooses.sha256(), leaves.sha256());
}

TEST(grad_scaler, refuses_a_step_that_was_told_to_scale_or_has_done_so) {
  Model model("net", small_network());
  GradScaler scaler({.initial = 1024});
  const auto batch = small_batch(0);
  for (const LossScale::Kind kind : {LossScale::Kind::dynamic, LossScale::Kind::fixed}) {
    Step step(model, classifying(), in_f16(kind));
    EXPECT_NE(refusal([&] { scaler.backward(step, batch); }).find("a loss scale of its own"),
              std::string::npos);
    step.backward(batch);
    EXPECT_NE(refusal([&] { scaler.step(step); }).find("a loss scale of its own"),
              std::string::npos);
  }
  Step step(model, classifying(), in_f16(LossScale::Kind::automatic), {.name = "automatic"});
  step.backward(batch);
  EXPECT_NE(refusal([&] { scaler.step(step); }).find("that it scaled itself"), std::string::npos);
  EXPECT_TRUE(step.update().applied());
  scaler.backward(step, batch);
  EXPECT_TRUE(scaler.step(step));
  GradScaler disabled({.enabled = false});
  Step scales(model, classifying(), in_f16(LossScale::Kind::automatic), {.name = "scales"});
  disabled.backward(scales, batch);
  EXPECT_GT(scales.loss_scale(), 1);
  EXPECT_TRUE(disabled.step(scales));
}

}  // namespace
}  // namespace narrowgauge::grad_scaler_test
