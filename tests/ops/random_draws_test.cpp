// SPDX-License-Identifier: Apache-2.0
// Distributions of the random ops, and what their numbers depend on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/composition/interpret.h"
#include "ops/random/distributions.h"
#include "ops/random/draws.h"
#include "support/run_op.h"

namespace narrowgauge::testing_support::random_draws_test {
namespace {

constexpr std::int64_t many = 100'000;

template <Op T>
Tensor drawn(T op, RunContext context, const char* name = "node") {
  Graph graph;
  graph.output("y", graph.add(std::move(op), {}, {.name = name}));
  return interpret(graph, {}, {.context = context})[0];
}

// Mean and variance.
struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const Tensor& tensor) {
  Moments m;
  const auto count = static_cast<double>(tensor.size());
  for (const double value : to_doubles(tensor)) m.mean += value / count;
  for (const double value : to_doubles(tensor))
    m.variance += (value - m.mean) * (value - m.mean) / count;
  return m;
}

TEST(random_uniform, fills_its_range_evenly) {
  const Tensor y = run_op(RandomUniform{.high = 5, .low = -1, .shape = {many}}, {})[0];
  std::vector<int> counts(6);
  for (const double value : to_doubles(y)) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 5);
    ++counts[static_cast<std::size_t>(value + 1)];
  }
  // Five standard deviations of a binomial distribution.
  const double expected = many / 6.0, bound = 5 * std::sqrt(expected * 5 / 6);
  for (const int count : counts) EXPECT_NEAR(count, expected, bound);
}

TEST(random_normal, has_its_mean_and_deviation) {
  const Tensor y = run_op(RandomNormal{.mean = 3, .scale = 0.5, .shape = {many}}, {})[0];
  const auto [mean, variance] = moments_of(y);
  EXPECT_NEAR(mean, 3, 5 * 0.5 / std::sqrt(many));
  EXPECT_NEAR(variance, 0.25, 5 * 0.25 * std::sqrt(2.0 / many));
  // A third lies further from the mean than the deviation: erfc(1 / sqrt(2)).
  int far = 0;
  for (const double value : to_doubles(y)) far += std::abs(value - 3) > 0.5;
  EXPECT_NEAR(far / static_cast<double>(many), std::erfc(std::sqrt(0.5)), 0.01);
}

TEST(random_like, has_shape_and_dtype_of_its_input_or_its_own) {
  const Tensor x(DType::f16, {2, 3});
  EXPECT_EQ(run_op(RandomUniformLike{}, {x})[0].type(), x.type());
  EXPECT_EQ(run_op(RandomNormalLike{.dtype = DType::f64}, {x})[0].type(),
            TensorType::parse("f64[2,3]"));
  EXPECT_THROW(run_op(RandomNormalLike{}, {Tensor(DType::i64, {2})}), UsageError);
}

TEST(bernoulli, gives_ones_as_often_as_p_says) {
  for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    const Tensor y = run_op(Bernoulli{}, {Tensor::full(DType::f32, {many}, p)})[0];
    EXPECT_NEAR(moments_of(y).mean, p, 5 * std::sqrt(p * (1 - p) / many) + 1e-7);
    EXPECT_TRUE(std::ranges::all_of(to_doubles(y), [](double v) { return v == 0 || v == 1; }));
  }
}

TEST(multinomial, draws_classes_with_the_shares_of_softmax) {
  const std::vector<float> shares{0.5F, 0, 0.125F, 0.375F};
  std::vector<float> logits;
  for (const float share : shares) logits.push_back(std::log(share) + 100);
  const Tensor y =
      run_op(Multinomial{.sample_size = many}, {Tensor::from<float>({1, 4}, logits)})[0];
  EXPECT_EQ(y.type(), TensorType::parse("i32[1,100000]"));
  std::vector<double> seen(4);
  for (const double value : to_doubles(y)) seen.at(static_cast<std::size_t>(value)) += 1.0 / many;
  for (std::size_t c = 0; c < seen.size(); ++c)
    EXPECT_NEAR(seen[c], shares[c], 5 * std::sqrt(shares[c] * (1 - shares[c]) / many) + 1e-9);
}

TEST(multinomial, refuses_rows_without_probabilities) {
  for (const float logit : {-HUGE_VALF, HUGE_VALF, NAN}) {
    const Tensor logits = Tensor::full(DType::f32, {1, 3}, logit);
    EXPECT_THROW(run_op(Multinomial{}, {logits}), DataError);
  }
}

TEST(random_numbers, depend_on_seed_step_and_name_alone) {
  const RandomNormal op{.shape = {64}};
  const Tensor first = drawn(op, {.seed = 1, .step = 1});
  EXPECT_TRUE(first.same_bits(drawn(op, {.seed = 1, .step = 1})));
  EXPECT_FALSE(first.same_bits(drawn(op, {.seed = 2, .step = 1})));
  EXPECT_FALSE(first.same_bits(drawn(op, {.seed = 1, .step = 2})));
  EXPECT_FALSE(first.same_bits(drawn(op, {.seed = 1, .step = 1}, "other")));
}

TEST(random_numbers, take_the_seed_of_the_node_if_it_has_one) {
  std::set<float> firsts;
  for (const double seed : {0.0, 0.25, 1.0}) {
    const RandomUniform op{.seed = seed, .shape = {1}};
    const Tensor y = drawn(op, {.seed = 1});
    EXPECT_TRUE(y.same_bits(drawn(op, {.seed = 2})));
    firsts.insert(y.values<float>()[0]);
  }
  EXPECT_EQ(firsts.size(), 3U);
}

TEST(random_ops, refuse_what_makes_no_tensor) {
  const auto refused = [](auto op) { EXPECT_THROW(run_op(op, {}), UsageError); };
  refused(RandomUniform{.shape = {-1}});
  refused(RandomUniform{.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40}});
  refused(RandomUniform{.high = 0, .low = 1, .shape = {1}});
  refused(RandomUniform{.high = NAN, .shape = {1}});
  refused(RandomUniform{.dtype = DType::i64, .shape = {1}});
  refused(RandomNormal{.scale = -1, .shape = {1}});
}

}  // namespace
}  // namespace narrowgauge::testing_support::random_draws_test
