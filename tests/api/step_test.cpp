// SPDX-License-Identifier: Apache-2.0
// Steps of a loop of one's own: whole or in parts, beside each other, with settings that change.
#include "narrowgauge/step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "api/small_training.h"

namespace narrowgauge::step_test {
namespace {

// Without dropout and batch statistics, which make four batches differ from one.
BuildNetwork plain_network() {
  return [](Network& net) {
    Value x = net.input("images", {net.batch(), 1, 12, 12});
    x = net.relu(net.conv(x, 8, {}, "conv"));
    return net.linear(net.flatten(net.max_pool(x)), 4, "head");
  };
}

Objective classifying(const BuildNetwork& build) {
  return [=](Network& net) { return softmax_cross_entropy()(net, build(net)); };
}

Optimizer usual() { return sgd(0.05); }

double largest_difference(const Model& a, const Model& b) {
  double most = 0;
  for (const std::string& name : a.state_names()) {
    const Tensor left = a.state(name), right = b.state(name);
    for (std::int64_t i = 0; i < left.size(); ++i)
      most = std::max(most, std::abs(left.at(i) - right.at(i)));
  }
  return most;
}

TEST(step, at_once_is_the_step_of_a_trainer) {
  for (const DType narrow : {DType::f32, DType::bf16, DType::f16}) {
    Optimizer optimizer = adamw(1e-3);
    if (narrow != DType::f32) enable_mixed_precision(optimizer, narrow);
    Model first("net", small_network()), second("net", small_network());
    Trainer trainer(first, softmax_cross_entropy(), optimizer, {.deterministic = true});
    Step step(second, classifying(small_network()), optimizer, {.deterministic = true});
    for (std::uint64_t i = 0; i < 6; ++i) {
      const auto batch = small_batch(i);
      const StepResult expected = trainer.step(batch), found = step.step(batch);
      EXPECT_EQ(found.loss, expected.loss) << name(narrow);
      EXPECT_EQ(found.norm, expected.norm) << name(narrow);
      EXPECT_EQ(found.scale, expected.scale) << name(narrow);
      EXPECT_EQ(found.learning_rate, expected.learning_rate) << name(narrow);
    }
    EXPECT_EQ(first.sha256(), second.sha256()) << name(narrow);
    EXPECT_EQ(step.applied_steps(), trainer.applied_steps());
  }
}

TEST(step, four_small_batches_are_one_of_four_times_the_size) {
  for (const LossScale::Kind kind : {LossScale::Kind::off, LossScale::Kind::dynamic}) {
    Optimizer optimizer = usual();
    optimizer.clip_norm = 0.5;
    optimizer.loss_scale.kind = kind;
    Model whole("net", plain_network()), parts("net", plain_network());
    Step at_once(whole, classifying(plain_network()), optimizer);
    Step in_parts(parts, classifying(plain_network()), optimizer);
    for (std::uint64_t i = 0; i < 5; ++i) {
      const auto batch = small_batch(i, 32);
      const StepResult expected = at_once.step(batch);
      for (std::int64_t part = 0; part < 4; ++part) {
        const auto rows = [&](const Tensor& tensor) {
          Dims dims = tensor.dims();
          dims[0] = 8;
          Tensor some(tensor.dtype(), dims);
          std::copy_n(tensor.data() + part * some.bytes(), some.bytes(), some.data());
          return some;
        };
        const Tensor some[] = {rows(batch[0]), rows(batch[1])};
        in_parts.backward(some, 0.25);
      }
      const StepResult found = in_parts.update();
      EXPECT_NEAR(found.loss, expected.loss, 1e-6);
      EXPECT_NEAR(found.norm, expected.norm, 1e-6);
      EXPECT_EQ(found.scale, expected.scale);
    }
    EXPECT_LT(largest_difference(whole, parts), 1e-6);
  }
}

TEST(step, gives_gradients_unscaled_and_takes_what_is_written_into_them) {
  Optimizer optimizer = sgd(1, 0);
  optimizer.loss_scale.kind = LossScale::Kind::fixed;
  optimizer.loss_scale.initial = 1024;
  Model model("product", [](Network& net) {
    return net.op("Mul", {net.input("x", {2}), net.parameter("w", {2}, Initial::constant(1))});
  });
  const auto objective = [](Network& net) {
    const Value x = net.input("x", {2});
    const Value product = net.op("Mul", {x, net.parameter("w", {2}, Initial::constant(1))});
    return net.op("ReduceSum", {product}, "keepdims=0");
  };
  Step step(model, objective, optimizer);
  const Tensor x = Tensor::from<float>({2}, std::vector<float>{2, 3});
  EXPECT_EQ(step.backward(std::span(&x, 1)), 5);
  std::vector<NamedTensor> gradients = step.gradients();
  ASSERT_EQ(gradients.size(), 1U);
  EXPECT_EQ(gradients[0].name, "w");
  EXPECT_EQ(gradients[0].tensor.at(1), 3);
  EXPECT_THROW(step.backward(std::span(&x, 1)), UsageError);
  gradients[0].tensor.set(1, 10);
  EXPECT_EQ(step.update().loss, 5);
  EXPECT_EQ(model.state("w").at(0), -1);
  EXPECT_EQ(model.state("w").at(1), -9);
  EXPECT_EQ(step.gradients()[0].tensor.at(1), 0);
  EXPECT_THROW(step.update(), UsageError);
}

TEST(step, forward_changes_nothing) {
  Model model("net", small_network());
  Step step(
      model,
      [](Network& net) {
        const Value y = small_network()(net);
        net.output("logits", y);
        return softmax_cross_entropy()(net, y);
      },
      usual());
  const auto batch = small_batch(1);
  const std::string before = model.sha256();
  const std::vector<NamedTensor> outputs = step.forward(batch);
  EXPECT_EQ(model.sha256(), before);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].name, "loss");
  EXPECT_EQ(outputs[1].tensor.dims(), (Dims{32, 4}));
  EXPECT_EQ(outputs[0].tensor.at(0), step.step(batch).loss);
}

TEST(step, a_bad_batch_spoils_no_statistics_and_no_weights) {
  Model model("net", small_network());
  Step step(model, classifying(small_network()), usual());
  auto batch = small_batch(1);
  step.backward(batch);
  const std::string before = model.sha256();
  batch[0].set(3, INFINITY);
  step.backward(batch);
  EXPECT_EQ(step.update().outcome, StepOutcome::loss_not_finite);
  EXPECT_EQ(model.sha256(), before);
  EXPECT_EQ(step.applied_steps(), 0);
  step.backward(small_batch(2));
  EXPECT_TRUE(step.update().applied());
}

TEST(step, settings_change_in_flight) {
  Model model("net", plain_network());
  Optimizer optimizer = usual();
  optimizer.loss_scale.kind = LossScale::Kind::dynamic;
  Step step(model, classifying(plain_network()), optimizer);
  step.set_learning_rate(0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(step.step(small_batch(0)).learning_rate), 0.5F);
  step.set_loss_scale(256);
  EXPECT_EQ(step.step(small_batch(1)).scale, 256);
  const Tensor weight = model.state("conv.weight");
  step.freeze("conv.*");
  step.step(small_batch(2));
  EXPECT_TRUE(model.state("conv.weight").same_bits(weight));
  EXPECT_EQ(step.applied_steps(), 3);
  step.thaw("conv.*");
  step.step(small_batch(3));
  EXPECT_FALSE(model.state("conv.weight").same_bits(weight));
  EXPECT_THROW(step.freeze("features.*"), UsageError);
  EXPECT_THROW(step.thaw("conv.*"), UsageError);
  EXPECT_THROW(step.set_loss_scale(-1), UsageError);
  EXPECT_THROW(step.set_learning_rate(NAN), UsageError);
}

// Two losses, two optimizers and two sets of parameters of one model.
TEST(step, several_steps_train_one_model) {
  Model model("net", plain_network());
  Step body(model, classifying(plain_network()), adam(1e-3),
            {.name = "body", .parameters = {"conv.*"}});
  Step head(model, classifying(plain_network()), sgd(0.01),
            {.name = "head", .parameters = {"head.*"}});
  const Tensor conv = model.state("conv.weight"), weight = model.state("head.weight");
  body.step(small_batch(0));
  EXPECT_FALSE(model.state("conv.weight").same_bits(conv));
  EXPECT_TRUE(model.state("head.weight").same_bits(weight));
  double first = 0, last = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto batch = small_batch(i);
    body.step(batch);
    last = head.step(batch).loss;
    if (i == 0) first = last;
  }
  EXPECT_LT(last, first / 2);
  EXPECT_EQ(head.applied_steps(), 40);
  Trainer trainer(model, softmax_cross_entropy(), usual());
  EXPECT_THROW(head.step(small_batch(0)), UsageError);
}

TEST(step, refuses_what_makes_no_sense) {
  Model model("net", plain_network());
  EXPECT_THROW(Step(model, classifying(plain_network()), usual(), {.name = ""}), UsageError);
  EXPECT_THROW(Step(model, classifying(plain_network()), usual(), {.name = "training"}),
               UsageError);
  EXPECT_THROW(Step(model, classifying(plain_network()), usual(), {.parameters = {"nothing"}}),
               UsageError);
  EXPECT_THROW(Step(model, plain_network(), usual()), UsageError);  // no scalar
  EXPECT_THROW(Step(model, classifying(plain_network()), usual(), {.threads = -1}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::step_test
