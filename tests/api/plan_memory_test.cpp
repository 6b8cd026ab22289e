// SPDX-License-Identifier: Apache-2.0
// Plans of input shapes: how often a network is compiled, and how many plans are kept.
#include <gtest/gtest.h>

#include "api/model/model_implementation.h"
#include "api/small_training.h"

namespace narrowgauge::plan_memory_test {
namespace {

Value small_network(Network& net) {
  return net.linear(net.relu(net.linear(net.input("x", {net.batch(), 6}), 5)), 3);
}

// Trains on batches of these sizes; returns how often the step was compiled.
class CountedTraining {
 public:
  explicit CountedTraining(std::optional<std::int64_t> plan_memory) : model_("m", small_network) {
    if (plan_memory) model_.set_plan_memory(*plan_memory);
    TrainerOptions options;
    options.trace = [this](const std::string& text) { compiled_ += text.starts_with("== bind_"); };
    trainer_.emplace(model_, softmax_cross_entropy(), sgd(0.1), options);
  }

  int compile_for(std::int64_t from, std::int64_t to) {
    const int before = compiled_;
    for (std::int64_t size = from; size <= to; ++size) {
      const Tensor batch[] = {Tensor(DType::f32, {size, 6}), Tensor(DType::i64, {size})};
      trainer_->step(batch);
    }
    return compiled_ - before;
  }

  Model& model() { return model_; }

 private:
  Model model_;
  int compiled_ = 0;
  std::optional<Trainer> trainer_;
};

TEST(plan_memory, many_sizes_that_recur_are_compiled_once_each) {
  CountedTraining training({});
  EXPECT_EQ(training.compile_for(1, 100), 100);
  EXPECT_EQ(training.compile_for(1, 100), 0);
}

TEST(plan_memory, the_last_shapes_are_kept_whatever_they_take) {
  CountedTraining training(0);
  EXPECT_EQ(training.compile_for(1, 40), 40);
  EXPECT_EQ(training.compile_for(9, 40), 0);
  EXPECT_EQ(training.compile_for(1, 8), 8);
}

TEST(plan_memory, bounds_the_bytes_of_plans_and_may_change) {
  CountedTraining training(4 << 20);
  EXPECT_EQ(training.compile_for(1, 200), 200);
  const int again = training.compile_for(1, 200);
  EXPECT_EQ(again, 200);  // the oldest goes first, which is the next to be asked for
  int kept = 0;
  for (int size = 200; size > 0 && training.compile_for(size, size) == 0; --size) ++kept;
  EXPECT_GT(kept, 32);
  EXPECT_LT(kept, 150);
  training.model().set_plan_memory(64 << 20);
  training.compile_for(1, 200);
  EXPECT_EQ(training.compile_for(1, 200), 0);
}

TEST(plan_memory, is_a_number_of_bytes) {
  Model model("m", small_network);
  try {
    model.set_plan_memory(-1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "plan memory: expected bytes from 0 up, got -1");
  }
}

// What was dropped while it ran is dropped at its end.
TEST(plan_memory, a_plan_may_be_dropped_while_it_runs) {
  Model model("m", small_network);
  model.set_plan_memory(0);
  const auto ask = [&](std::int64_t size) {
    return model.predict(Tensor(DType::f32, {size, 6})).dims()[0];
  };
  ask(1);
  Program& program = ModelAccess::of(model).prediction_program();
  const Tensor one[] = {Tensor(DType::f32, {1, 6})};
  Program::Lease first = program.compiled_executor_for(one);
  ASSERT_TRUE(first);
  for (std::int64_t size = 2; size < 40; ++size) EXPECT_EQ(ask(size), size);
  EXPECT_FALSE(program.compiled_executor_for(one));
  EXPECT_EQ(ask(1), 1);  // compiled anew
  EXPECT_EQ(first->run(one).at(0).dims()[0], 1);
  first.reset();
  for (std::int64_t size = 1; size < 60; ++size) EXPECT_EQ(ask(size), size);
}

}  // namespace
}  // namespace narrowgauge::plan_memory_test
