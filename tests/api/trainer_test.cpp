// SPDX-License-Identifier: Apache-2.0
// A Trainer among others of its model, and what evaluation computes with.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "api/small_training.h"
#include "narrowgauge/tf32.h"

namespace narrowgauge::trainer_test {
namespace {

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

Optimizer in(DType narrow) {
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, narrow);
  return optimizer;
}

TEST(trainer, a_new_one_begins_anew_and_takes_the_model_over) {
  Model model("small", small_network());
  Trainer first(model, softmax_cross_entropy(), adam());
  for (std::uint64_t step = 0; step < 3; ++step) first.step(small_batch(step));
  Trainer second(model, softmax_cross_entropy(), in(DType::f16));
  EXPECT_EQ(second.step(small_batch(3)).scale, 65536);
  EXPECT_EQ(second.applied_steps() + second.skipped_steps(), 1);
  EXPECT_THROW(first.step(small_batch(4)), UsageError);
  EXPECT_THROW(first.save(temporary("ng_first_")), UsageError);

  const std::string folder = temporary("ng_second_");
  second.save(folder);
  Model fresh("small", small_network());
  Trainer alone(fresh, softmax_cross_entropy(), in(DType::f16));
  alone.resume(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(fresh.sha256(), model.sha256());
  EXPECT_EQ(alone.skipped_steps(), second.skipped_steps());
}

// What a trainer compiles later obeys the switches as they are then.
TEST(trainer, tf32_that_is_forbidden_before_the_first_step_is_not_computed) {
  Optimizer optimizer = sgd(0.05);
  optimizer.precision.f32_math = Math::tf32;
  for (const bool allowed : {true, false}) {
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), optimizer);
    trainer.enable_profile();
    allow_tf32(allowed);
    trainer.step(small_batch(0));
    allow_tf32(true);
    bool rounds = false;
    for (const Trainer::KernelChoice& kernel : trainer.kernels())
      rounds |= kernel.implementation.find("tf32") != std::string::npos;
    EXPECT_EQ(rounds, allowed);
  }
}

TEST(trainer, a_step_that_throws_does_not_count) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  auto batch = small_batch(0);
  batch[1].set(0, 99);
  EXPECT_ANY_THROW(trainer.step(batch));
  EXPECT_EQ(trainer.skipped_steps(), 0);
}

TEST(trainer, labels_that_are_no_classes_of_the_prediction_have_no_accuracy) {
  Model model("small", small_network());
  const Loss sum = [](Network& net, Value prediction) {
    const Value labels = net.input("labels", {net.batch(), 50}, DType::i64);
    const Value wanted = net.op("Cast", {labels}, "to=f32");
    return net.op("Add", {net.op("ReduceMean", {prediction}, "keepdims=0"),
                          net.op("ReduceMean", {wanted}, "keepdims=0")});
  };
  Trainer trainer(model, sum, sgd(0.05));
  const auto source = std::make_shared<TensorSource>(
      std::vector<Tensor>{small_batch(0, 40)[0], Tensor(DType::i64, {40, 50})});
  EXPECT_TRUE(std::isnan(trainer.evaluate(source, 40).accuracy));
}

TEST(trainer, precision_that_is_set_later_reaches_evaluation) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  const auto source = small_source(40);
  const double f32 = trainer.evaluate(source).loss;
  model.set_precision(PrecisionRequest{.narrow = DType::bf16});
  const double bf16 = trainer.evaluate(source).loss;
  EXPECT_NE(bf16, f32);
  EXPECT_NEAR(bf16, f32, 0.01);
  model.set_precision({});
  EXPECT_EQ(trainer.evaluate(source).loss, f32);
}

TEST(trainer, a_plan_brings_the_loss_scale_of_its_format) {
  const std::string path = temporary("ng_plan_");
  Model planned("small", small_network());
  save_plan(Trainer(planned, softmax_cross_entropy(), in(DType::f16)).plan(), path);
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05), {.plan_file = path});
  EXPECT_EQ(trainer.step(small_batch(0)).scale, 65536);
  EXPECT_THROW(Trainer(model, softmax_cross_entropy(), in(DType::bf16), {.plan_file = path}),
               UsageError);
  std::filesystem::remove(path);
}

TEST(trainer, a_plan_may_be_given_as_text) {
  Model planned("small", small_network());
  const PrecisionPlan plan = Trainer(planned, softmax_cross_entropy(), in(DType::bf16)).plan();
  Model model("small", small_network());
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.05),
                        {.plan_file = "named.txt", .plan_text = print(plan)});
  EXPECT_EQ(trainer.plan(), plan);
  try {
    Trainer(model, softmax_cross_entropy(), sgd(0.05),
            {.plan_file = "named.txt", .plan_text = "no plan"});
    FAIL() << "no error";
  } catch (const ModelError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("named.txt")) << error.what();
  }
}

TEST(trainer, keeps_the_reason_of_its_format_in_the_plan) {
  Model model("small", small_network());
  const Trainer trainer(model, softmax_cross_entropy(), in(DType::bf16),
                        {.plan_reason = "because it is fastest here"});
  EXPECT_EQ(trainer.plan().reason, "because it is fastest here");
}

TEST(trainer, obeys_the_environment_unless_it_is_told_otherwise) {
  Model model("small", small_network());
  setenv("NARROWGAUGE_AMP", "bf16", 1);
  const Trainer obeys(model, softmax_cross_entropy(), sgd(0.05));
  const Trainer free(model, softmax_cross_entropy(), sgd(0.05), {.obeys_environment = false});
  unsetenv("NARROWGAUGE_AMP");
  EXPECT_EQ(obeys.plan().narrow, DType::bf16);
  EXPECT_EQ(free.plan().narrow, DType::f32);
}

TEST(fit, keeps_its_batch_within_an_epoch) {
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  const auto source = small_source(64);
  const auto stop = [](const Progress&) { return false; };
  EXPECT_TRUE(trainer.fit(source, nullptr, {.epochs = 2, .batch = 16}, stop).stopped);
  EXPECT_THROW(trainer.fit(source, nullptr, {.epochs = 2, .batch = 32}), UsageError);
  EXPECT_EQ(trainer.fit(source, nullptr, {.epochs = 2, .batch = 16}).steps, 7);
}

// PyTorch has the same gradient, where the derivative of floor is 0.
TEST(trainer, a_weight_behind_a_step_has_the_gradient_zero) {
  const auto build = [](bool is_used) {
    return [is_used](Network& net) {
      const Value x = net.input("x", {net.batch(), 3});
      const Value stepped = net.op("Floor", {net.parameter("behind", {3}, Initial::constant(1.5))});
      return net.linear(is_used ? net.add(x, stepped) : x, 2, "linear");
    };
  };
  const std::array<Tensor, 2> batch{Tensor::full(DType::f32, {4, 3}, 1), Tensor(DType::i64, {4})};
  Model model("stepped", build(true));
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  const Tensor before = model.state("linear.weight");
  trainer.step(batch);
  EXPECT_EQ(model.state("behind").at(0), 1.5);
  EXPECT_FALSE(before.same_bits(model.state("linear.weight")));

  Model unused("unused", build(false));
  try {
    Trainer(unused, softmax_cross_entropy(), sgd(0.1)).step(batch);
    FAIL() << "accepted";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("the loss does not depend on it"), std::string::npos);
  }
}

}  // namespace
}  // namespace narrowgauge::trainer_test
