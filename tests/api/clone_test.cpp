// SPDX-License-Identifier: Apache-2.0
// Models, trainings and engines that go on twice.
#include <gtest/gtest.h>

#include <optional>

#include "api/small_training.h"
#include "narrowgauge/narrowgauge.h"
#include "support/own_process.h"

namespace narrowgauge::clone_test {
namespace {

using testing_support::ends_by_usage_error;

Value small_loss(Network& net) { return softmax_cross_entropy()(net, small_network()(net)); }

TEST(clone, a_model_has_weights_and_statistics_of_its_own) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  trainer.step(small_batch(0));
  const Model copy = model.clone();
  const std::string before = model.sha256();
  EXPECT_EQ(copy.sha256(), before);
  trainer.step(small_batch(1));
  EXPECT_EQ(copy.sha256(), before);
  EXPECT_NE(model.sha256(), before);
}

TEST(clone, a_model_outlives_the_one_it_is_of_and_answers_alike) {
  std::optional<Model> model(std::in_place, "small", small_network());
  model->set_precision({.narrow = DType::bf16});
  const Tensor images = small_batch(0)[0];
  const Tensor answers = model->predict(images);
  Model copy = model->clone();
  model.reset();
  EXPECT_TRUE(copy.predict(images).same_bits(answers));
}

// Steps of a training and of its clone, in turns.
void expect_same_steps(Trainer& a, Model& of_a, Trainer& b, Model& of_b) {
  for (std::uint64_t step = 10; step < 14; ++step) {
    const StepResult first = a.step(small_batch(step)), second = b.step(small_batch(step));
    EXPECT_EQ(first.loss, second.loss);
    EXPECT_EQ(first.scale, second.scale);
    EXPECT_EQ(first.norm, second.norm);
  }
  EXPECT_EQ(of_a.sha256(), of_b.sha256());
  EXPECT_EQ(a.applied_steps(), b.applied_steps());
}

TEST(clone, a_training_goes_on_bit_for_bit) {
  for (const DType format : {DType::f32, DType::f16, DType::bf16}) {
    Model model("small", small_network());
    Optimizer optimizer = adamw(1e-3);
    if (format != DType::f32) enable_mixed_precision(optimizer, format);
    optimizer.ema_decay = 0.9;
    Trainer trainer(model, softmax_cross_entropy(), optimizer, {.seed = 3});
    for (std::uint64_t step = 0; step < 5; ++step) trainer.step(small_batch(step));
    Model copy = model.clone();
    Trainer other = trainer.clone(copy);
    EXPECT_EQ(other.applied_steps(), trainer.applied_steps());
    EXPECT_EQ(other.skipped_steps(), trainer.skipped_steps());
    expect_same_steps(trainer, model, other, copy);
  }
}

TEST(clone, a_training_in_parts_and_in_f64_goes_on_too) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.accumulation = 4});
  trainer.step(small_batch(0));
  Model copy = model.clone();
  Trainer other = trainer.clone(copy);
  expect_same_steps(trainer, model, other, copy);

  Model wide("small", small_network());
  Optimizer exact = adam(1e-3);
  exact.precision.in_f64 = true;
  Trainer wide_trainer(wide, softmax_cross_entropy(), exact);
  wide_trainer.step(small_batch(0));
  Model wide_copy = wide.clone();
  Trainer wide_other = wide_trainer.clone(wide_copy);
  expect_same_steps(wide_trainer, wide, wide_other, wide_copy);
}

TEST(clone, a_training_of_epochs_goes_on_in_the_middle_of_one) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), adam(1e-3));
  const auto source = small_source(160);
  trainer.fit(source, nullptr, {.epochs = 2, .batch = 32},
              [](const Progress& progress) { return progress.epoch < 1 || progress.batch < 2; });
  Model copy = model.clone();
  Trainer other = trainer.clone(copy);
  EXPECT_EQ(trainer.fit(source, nullptr, {.epochs = 2, .batch = 32}).final_loss,
            other.fit(source, nullptr, {.epochs = 2, .batch = 32}).final_loss);
  EXPECT_EQ(model.sha256(), copy.sha256());
}

TEST(clone, a_step_goes_on_bit_for_bit_also_between_backward_and_update) {
  Model model("small", small_network());
  Optimizer optimizer = adam(1e-3);
  enable_mixed_precision(optimizer, DType::f16);
  Step step(model, small_loss, optimizer, {.name = "own", .seed = 5});
  step.step(small_batch(0));
  step.freeze(model.state_names()[0]);
  step.backward(small_batch(1), 0.5);
  Model copy = model.clone();
  Step other = step.clone(copy);
  EXPECT_EQ(step.backward(small_batch(2), 0.5), other.backward(small_batch(2), 0.5));
  EXPECT_EQ(step.update().loss, other.update().loss);
  EXPECT_EQ(step.step(small_batch(3)).loss, other.step(small_batch(3)).loss);
  EXPECT_EQ(model.sha256(), copy.sha256());
  EXPECT_EQ(step.applied_steps(), other.applied_steps());
}

TEST(clone, a_training_needs_another_model_of_the_same_network) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  Model another("another", small_network(12, 5));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.clone(model); }, "needs a model of its own"));
  EXPECT_TRUE(ends_by_usage_error([&] { trainer.clone(another); }, "is not that of 'small'"));
  Trainer still(another, softmax_cross_entropy(), sgd(0.1));
  EXPECT_THROW(trainer.clone(another), UsageError);
  EXPECT_NO_THROW(still.step(small_batch(0, 32, 12, 5)));  // was not taken over
  Model stepped("small", small_network());
  Step step(stepped, small_loss, sgd(0.1));
  EXPECT_TRUE(ends_by_usage_error([&] { step.clone(stepped); }, "needs a model of its own"));
  EXPECT_TRUE(ends_by_usage_error([&] { step.clone(another); }, "is not that of 'small'"));
}

TEST(clone, an_engine_outlives_the_one_it_is_of_and_answers_alike) {
  const Model model("small", small_network());
  std::optional<Engine> engine(convert(model, {.precision = EnginePrecision::f32}));
  const Tensor images = small_batch(0)[0];
  const Tensor answers = engine->predict(images);
  const Engine copy = engine->clone();
  engine.reset();
  EXPECT_TRUE(copy.predict(images).same_bits(answers));
}

TEST(clone, a_tensor_is_copied) {
  const Tensor tensor = Tensor::full(DType::f32, {4}, 1);
  Tensor copy = tensor.clone();
  copy.set(2, 5);
  EXPECT_EQ(tensor.at(2), 1);
}

}  // namespace
}  // namespace narrowgauge::clone_test
