// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/training/training_setup.h"
#include "narrowgauge/model_info.h"
#include "narrowgauge/random_batch.h"

namespace narrowgauge::largest_batch_test {
namespace {

class LargestBatch : public testing::TestWithParam<const char*> {};

TEST_P(LargestBatch, fits_and_is_within_a_hundredth_of_what_fits) {
  const TrainingSetup setup = set_up_training(GetParam(), find_model(GetParam(), {1, 16, 16}, 10),
                                              softmax_cross_entropy(), sgd(0.1), {});
  const auto needed = [&](std::int64_t batch) {
    return training_memory(setup.graph, setup.plan, batch).total() +
           batch_bytes(setup.graph, batch);
  };
  for (const std::int64_t bytes : {std::int64_t{20} << 20, std::int64_t{300} << 20}) {
    const std::int64_t batch = largest_batch(setup.graph, setup.plan, bytes);
    EXPECT_LE(needed(batch), bytes) << batch;
    EXPECT_GT(needed(batch + batch / 50 + 1), bytes) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, LargestBatch, testing::Values("mlp", "lenet", "resnet20"));

TEST(largest_batch, is_nothing_where_not_one_sample_fits) {
  const TrainingSetup setup = set_up_training("mlp", find_model("mlp", {1, 16, 16}, 10),
                                              softmax_cross_entropy(), sgd(0.1), {});
  EXPECT_EQ(largest_batch(setup.graph, setup.plan, 1000), 0);
}

TEST(random_batch, has_one_tensor_for_each_input_and_labels_in_range) {
  Model model("mlp", find_model("mlp", {3, 8, 8}, 4));
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  const std::vector<Tensor> batch = random_batch(trainer.graph(), 100, {{"labels", {0, 4}}}, 1);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].dims(), (Dims{100, 3, 8, 8}));
  EXPECT_EQ(batch[1].dims(), (Dims{100}));
  EXPECT_EQ(batch[0].bytes() + batch[1].bytes(), batch_bytes(trainer.graph(), 100));
  double sum = 0, squares = 0;
  for (const float x : batch[0].values<float>()) sum += x, squares += x * x;
  EXPECT_NEAR(sum / 19200, 0, 0.03);
  EXPECT_NEAR(squares / 19200, 1, 0.05);
  std::vector<int> seen(4);
  for (const std::int64_t label : batch[1].values<std::int64_t>())
    ++seen.at(static_cast<std::size_t>(label));
  for (const int count : seen) EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace narrowgauge::largest_batch_test
