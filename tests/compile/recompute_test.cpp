// SPDX-License-Identifier: Apache-2.0
// A training that computes results again takes less memory and gives the same bits.
#include <gtest/gtest.h>

#include "api/training/training_setup.h"
#include "compile/choose_recomputed.h"
#include "narrowgauge/random_batch.h"
#include "precision/apply.h"
#include "runtime/executor.h"

namespace narrowgauge::recompute_test {
namespace {

Value dropout_network(Network& net) {
  Value x = net.flatten(net.input("images", {net.batch(), 1, 16, 16}));
  for (int i = 0; i < 3; ++i) x = net.dropout(net.gelu(net.linear(x, 128)), 0.3);
  return net.linear(x, 10);
}

BuildNetwork network(const std::string& name) {
  return name == "dropout" ? BuildNetwork(dropout_network) : find_model(name, {1, 16, 16}, 10);
}

struct Training {
  TrainingSetup setup;
  Graph graph;
  std::int64_t batch;
  CompileOptions options{};

  Training(const std::string& name, std::optional<DType> narrow)
      : setup(set_up_training(name, network(name), softmax_cross_entropy(), optimizer(narrow),
                              {.obeys_environment = false})),
        graph(apply(setup.graph, setup.plan)),
        batch(name == "dropout" ? 512 : 16) {
    options.binding = {{"N", batch}};
    options.deterministic = true;
  }

  static Optimizer optimizer(std::optional<DType> narrow) {
    Optimizer result = sgd(0.1);
    if (narrow) enable_mixed_precision(result, *narrow);
    return result;
  }

  Plan compiled(const std::vector<std::string>& recompute) const {
    CompileOptions with = options;
    with.recompute = recompute;
    return compile(graph, with);
  }
  std::vector<std::string> chosen(const Plan& plan, std::int64_t most_bytes) const {
    return choose_recomputed(plan.graph, options, most_bytes);
  }
};

// The outputs of three steps, and all states after them.
std::vector<Tensor> trained(Training& training, const Plan& plan) {
  StateStore store;
  store.add(training.setup.graph, 1);
  Executor executor(std::make_shared<const Plan>(plan), store, 5);
  std::vector<Tensor> all;
  for (std::uint64_t step = 0; step < 3; ++step)
    for (Tensor& result : executor.run(
             random_batch(training.setup.graph, training.batch, {{"labels", {0, 10}}}, step), step))
      all.push_back(std::move(result));
  for (const State& state : training.setup.graph.states()) all.push_back(store.at(state.name));
  return all;
}

using Choice = std::pair<const char*, std::optional<DType>>;

class Recomputed : public testing::TestWithParam<Choice> {};

TEST_P(Recomputed, takes_less_memory_and_gives_the_same_bits) {
  Training training(GetParam().first, GetParam().second);
  const Plan whole = training.compiled({});
  const Plan less = training.compiled(training.chosen(whole, 0));
  EXPECT_TRUE(whole.recomputation.nodes.empty());
  EXPECT_GT(less.recomputation.nodes.size(), 0u);
  EXPECT_GT(less.recomputation.operations, 0);
  EXPECT_LT(less.value_bytes, whole.value_bytes * 9 / 10);
  const std::vector<Tensor> expected = trained(training, whole), got = trained(training, less);
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(expected[i].same_bits(got[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Each, Recomputed,
                         testing::Values(Choice{"dropout", {}}, Choice{"dropout", DType::bf16},
                                         Choice{"resnet20", {}}, Choice{"resnet20", DType::bf16}));

TEST(recompute, takes_only_as_much_as_fits_needs) {
  const Training training("resnet20", {});
  const Plan whole = training.compiled({});
  const std::int64_t most = whole.value_bytes * 9 / 10;
  const std::vector<std::string> some = training.chosen(whole, most);
  const std::vector<std::string> all = training.chosen(whole, 0);
  EXPECT_LE(training.compiled(some).value_bytes, most);
  EXPECT_GT(some.size(), 0u);
  EXPECT_LT(some.size(), all.size());
  EXPECT_TRUE(training.chosen(whole, whole.value_bytes).empty());
}

TEST(recompute, runs_no_contraction_again) {
  const Training training("resnet20", {});
  const Plan whole = training.compiled({});
  const auto flops = [](const Plan& plan) {
    double sum = 0;
    for (const PlanStep& step : plan.steps) sum += step.flops;
    return sum;
  };
  EXPECT_EQ(flops(training.compiled(training.chosen(whole, 0))), flops(whole));
}

// Results that lie where their only operand lay save nothing.
TEST(recompute, leaves_alone_what_saves_nothing) {
  const Training training("mlp", {});
  EXPECT_TRUE(training.chosen(training.compiled({}), 0).empty());
}

}  // namespace
}  // namespace narrowgauge::recompute_test
