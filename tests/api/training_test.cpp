// SPDX-License-Identifier: Apache-2.0
// Networks train on the glyphs in every precision.
#include <gtest/gtest.h>

#include <cmath>

#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::training_test {
namespace {

std::shared_ptr<DataSource> source_of(const DataSet& set) {
  return std::make_shared<TensorSource>(set, ImageTransform{.mean = {0.13F}, .deviation = {0.3F}});
}

FitResult train(const char* network, std::optional<DType> narrow, const DataSplit& data,
                std::int64_t batch, Math f32_math = Math::f32) {
  Model model(network, find_model(network, {}, 10));
  Optimizer optimizer = sgd(0.05);
  optimizer.precision.f32_math = f32_math;
  if (narrow) enable_mixed_precision(optimizer, *narrow);
  if (narrow) optimizer.precision.f32_math = f32_math;
  Trainer trainer(model, softmax_cross_entropy(), optimizer);
  return trainer.fit(source_of(data.train), source_of(data.test), {.epochs = 1, .batch = batch});
}

class Training : public testing::TestWithParam<std::tuple<const char*, std::optional<DType>>> {};

TEST_P(Training, lowers_the_loss) {
  const auto [network, narrow] = GetParam();
  const FitResult result = train(network, narrow, draw_glyphs(1, 3000, 500), 64);
  EXPECT_NEAR(result.first_loss, std::log(10.0), 0.7);
  EXPECT_GT(result.test.accuracy, 0.6) << result.test.loss;
  EXPECT_EQ(result.steps, 46);
}

INSTANTIATE_TEST_SUITE_P(each, Training,
                         testing::Combine(testing::Values("mlp", "lenet"),
                                          testing::Values(std::nullopt, std::optional(DType::f16),
                                                          std::optional(DType::bf16))));

// The fast way is dfp16 on most CPUs. AMX leaves out the products of both lower parts, which moves
// this loss by 1.8e-5 of itself; with all products it is 8e-6.
TEST(training, on_a_simulated_unit_begins_as_the_fast_one_does) {
  const DataSplit data = draw_glyphs(1, 32, 16);
  const FitResult fast = train("lenet", DType::f16, data, 16);
  const FitResult unit = train("lenet", DType::f16, data, 16, parse_math("sim:a100"));
  EXPECT_NEAR(unit.first_loss, fast.first_loss, 3e-5 * fast.first_loss);
  EXPECT_NEAR(unit.final_loss, fast.final_loss, 1e-2);
  EXPECT_NE(unit.final_loss, fast.final_loss);
}

}  // namespace
}  // namespace narrowgauge::training_test
