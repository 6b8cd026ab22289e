// SPDX-License-Identifier: Apache-2.0
// Training in f64: weights, losses and checkpoints.
#include <gtest/gtest.h>

#include <cmath>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/step.h"

namespace narrowgauge::in_f64_test {
namespace {

Optimizer in_f64(Optimizer optimizer) {
  optimizer.precision.in_f64 = true;
  return optimizer;
}

// A step of gradient descent on sum(w x^2 / 3), of which f32 holds neither x^2 / 3 nor the result.
TEST(in_f64, a_step_keeps_more_digits_than_f32_has) {
  const auto objective = [](Network& net) {
    const Value x = net.input("x", {2}), w = net.parameter("w", {2}, Initial::constant(1));
    const Value three = net.graph().constant(Tensor::scalar(DType::f32, 3));
    const Value square = net.op("Div", {net.op("Mul", {x, x}), three});
    return net.op("ReduceSum", {net.op("Mul", {w, square})}, "keepdims=0");
  };
  Model model("squares", objective);
  Step step(model, objective, in_f64(sgd(0.1, 0)));
  const Tensor x = Tensor::from<float>({2}, std::vector<float>{1, 2});
  EXPECT_DOUBLE_EQ(step.step(std::span(&x, 1)).loss, 5.0 / 3);
  EXPECT_EQ(model.state("w").dtype(), DType::f64);
  EXPECT_DOUBLE_EQ(model.state("w").at(1), 1 - 0.1 * 4 / 3);
  step.backward(std::span(&x, 1), 0.5);
  EXPECT_DOUBLE_EQ(step.gradients()[0].tensor.at(0), 1.0 / 6);
  EXPECT_TRUE(step.scale_gradients(2));
  step.update();
  EXPECT_DOUBLE_EQ(model.state("w").at(1), 1 - 0.2 * 4 / 3);
}

TEST(in_f64, trains_evaluates_and_predicts_as_f32_nearly_does) {
  Model wide("net", small_network()), usual("net", small_network());
  Trainer trainer(wide, softmax_cross_entropy(), in_f64(adamw(1e-3)));
  Trainer expected(usual, softmax_cross_entropy(), adamw(1e-3));
  bool same = true;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const double loss = trainer.step(small_batch(i)).loss;
    const double other = expected.step(small_batch(i)).loss;
    EXPECT_NEAR(loss, other, 1e-4 * other);
    same = same && loss == other;
  }
  EXPECT_FALSE(same);
  const Tensor images = small_batch(9)[0];
  const Tensor found = wide.predict(images), near = usual.predict(images);
  EXPECT_EQ(found.dtype(), DType::f64);
  for (std::int64_t i = 0; i < near.size(); ++i) EXPECT_NEAR(found.at(i), near.at(i), 1e-2);
}

TEST(in_f64, resumes_exactly) {
  const testing_files::TemporaryFolder folder;
  Model first("net", small_network()), second("net", small_network());
  Trainer trainer(first, softmax_cross_entropy(), in_f64(adamw(1e-3)));
  trainer.step(small_batch(0));
  trainer.save(folder / "run");
  Trainer again(second, softmax_cross_entropy(), in_f64(adamw(1e-3)));
  again.resume(folder / "run");
  EXPECT_EQ(trainer.step(small_batch(1)).loss, again.step(small_batch(1)).loss);
  EXPECT_EQ(first.sha256(), second.sha256());
}

TEST(in_f64, weights_go_there_and_back) {
  Model model("net", small_network());
  const std::string before = model.sha256();
  model.set_precision({.in_f64 = true});
  EXPECT_NE(model.sha256(), before);
  model.set_precision({});
  EXPECT_EQ(model.sha256(), before);
  EXPECT_THROW(model.set_precision({.narrow = DType::f16, .in_f64 = true}), UsageError);
}

TEST(in_f64, steps_of_one_model_agree_on_it) {
  const auto objective = [](Network& net) {
    return softmax_cross_entropy()(net, small_network()(net));
  };
  Model model("net", small_network());
  Step usual(model, objective, sgd(0.1));
  Step wide(model, objective, in_f64(sgd(0.1)), {.name = "wide"});
  EXPECT_THROW(usual.step(small_batch(0)), UsageError);
  EXPECT_THROW(Step(model, objective, sgd(0.1), {.name = "third"}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::in_f64_test
