// SPDX-License-Identifier: Apache-2.0
// Updates that look at a whole weight before they change it, on weights of many strips: LAMB, LARS
// and Muon. tests/train has their steps against timm and NumPy.
#include <gtest/gtest.h>

#include <cmath>

#include "base/threads/parallel.h"
#include "narrowgauge/optimizer.h"
#include "ops/gradient_run.h"
#include "ops/training/lamb_update.h"
#include "ops/training/lars_update.h"
#include "ops/training/muon_update.h"

namespace narrowgauge::whole_weight_update_test {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;

Tensor number(double value) { return Tensor::scalar(DType::f32, value); }
Tensor flag(bool value) { return Tensor::scalar(DType::boolean, value); }
Tensor steps(double value) { return Tensor::scalar(DType::i64, value); }

constexpr std::int64_t count = 70001;

Tensor values(const Dims& dims, std::int64_t seed, DType dtype = DType::f32) {
  return pattern(dtype, dims, seed);
}

Tensor squares(const Dims& dims) {
  Tensor tensor = values(dims, 3);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, tensor.at(i) * tensor.at(i));
  return tensor;
}

Inputs lamb_inputs(const Tensor& gradient, bool applied) {
  return {values({count}, 1), gradient,      values({count}, 2), squares({count}),
          number(0.01),       number(0.125), flag(applied),      steps(3)};
}

Inputs lars_inputs(const Tensor& gradient, bool applied) {
  return {values({count}, 1), gradient, values({count}, 2), number(0.5), number(0.125),
          flag(applied),      steps(3)};
}

Inputs muon_inputs(const Dims& dims, const Tensor& gradient, bool applied) {
  return {values(dims, 1), gradient,      values(dims, 2), std::nullopt,
          number(0.01),    number(0.125), flag(applied),   steps(3)};
}

const LambUpdate lamb{.weight_decay = 0.1, .narrow = DType::bf16};
const LarsUpdate lars{.momentum = 0.9, .dampening = 0.2, .weight_decay = 0.1, .narrow = DType::f16};

template <class Update>
void expect_like_reference(const Update& op, Inputs (*inputs)(const Tensor&, bool)) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Inputs given = inputs(values({count}, 5, dtype), true);
    const std::vector<Tensor> expected = run_kernel(op, given, {.kernel = "reference"}).outputs,
                              actual = run_kernel(op, given, {.kernel = "rows"}).outputs;
    for (std::size_t o = 0; o + 1 < expected.size(); ++o)
      expect_near(actual[o], values_of(expected[o]), 1e-6, concat(name(dtype), ' ', o));
    EXPECT_TRUE(actual.back().same_bits(actual[0].cast(op.narrow)));
  }
}

TEST(whole_weight_update, of_many_strips_is_that_of_the_reference) {
  expect_like_reference(lamb, lamb_inputs);
  expect_like_reference(lars, lars_inputs);
}

TEST(whole_weight_update, ratios_are_of_the_whole_weight) {
  // |w| = 3 * sqrt(n), and of constant gradients |u| = sqrt(n) in the first step.
  const Tensor weight = Tensor::full(DType::f32, {count}, 3),
               one = Tensor::full(DType::f32, {count}, 1), zero(DType::f32, {count});
  const Tensor by_lamb =
      run_kernel(LambUpdate{.always_adapt = true},
                 {weight, one, zero, zero, number(0.5), number(1), flag(true), steps(0)})
          .outputs[0];
  const Tensor by_lars =
      run_kernel(LarsUpdate{.trust_coefficient = 0.5, .always_adapt = true},
                 {weight, one, std::nullopt, number(0.5), number(1), flag(true)}, {.unread = {1}})
          .outputs[0];
  for (const std::int64_t i : {std::int64_t{0}, count / 2, count - 1}) {
    EXPECT_NEAR(by_lamb.at(i), 3 - 0.5 * 3, 1e-5) << i;
    EXPECT_NEAR(by_lars.at(i), 3 - 0.5 * 0.5 * 3, 1e-5) << i;
  }
}

TEST(whole_weight_update, of_zeros_moves_by_the_learning_rate_alone) {
  const Tensor zero(DType::f32, {count}), one = Tensor::full(DType::f32, {count}, 1);
  const Tensor by_lamb =
      run_kernel(LambUpdate{.always_adapt = true},
                 {zero, one, zero, zero, number(0.5), number(1), flag(true), steps(0)})
          .outputs[0];
  EXPECT_NEAR(by_lamb.at(7), -0.5, 1e-5);
  const Tensor by_lars =
      run_kernel(LarsUpdate{.always_adapt = true},
                 {zero, one, std::nullopt, number(0.5), number(1), flag(true)}, {.unread = {1}})
          .outputs[0];
  EXPECT_EQ(by_lars.at(7), -0.5);
}

template <class Update>
void expect_no_change(const Update& op, const Inputs& inputs, const KernelRun& how = {}) {
  const std::vector<Tensor> outputs = run_kernel(op, inputs, how).outputs;
  EXPECT_TRUE(outputs[0].same_bits(*inputs[0]));
  EXPECT_TRUE(outputs[1].same_bits(*inputs[2]));
  EXPECT_TRUE(outputs.back().same_bits(inputs[0]->cast(op.narrow)));
}

TEST(whole_weight_update, a_skipped_step_changes_no_bit) {
  for (const double bad : {INFINITY, NAN}) {
    Tensor gradient = values({count}, 5);
    gradient.set(40000, bad);
    expect_no_change(lamb, lamb_inputs(gradient, false), {.kernel = "rows"});
    expect_no_change(lars, lars_inputs(gradient, false), {.kernel = "rows"});
    const Dims dims{30, 20};
    expect_no_change(MuonUpdate{.narrow = DType::bf16},
                     muon_inputs(dims, Tensor::full(DType::f32, dims, bad), false));
  }
}

template <class Update>
void expect_same_bits_with_any_threads(const Update& op, const Inputs& inputs) {
  std::vector<std::vector<Tensor>> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    results.push_back(run_kernel(op, inputs).outputs);
    for (std::size_t o = 0; o < results[0].size(); ++o)
      EXPECT_TRUE(results.back()[o].same_bits(results[0][o])) << threads << ' ' << o;
  }
}

TEST(whole_weight_update, bits_do_not_depend_on_the_number_of_threads) {
  expect_same_bits_with_any_threads(lamb, lamb_inputs(values({count}, 5), true));
  expect_same_bits_with_any_threads(lars, lars_inputs(values({count}, 5), true));
  for (const Dims& dims : {Dims{300, 200}, Dims{100, 400}})
    expect_same_bits_with_any_threads(MuonUpdate{}, muon_inputs(dims, values(dims, 5), true));
}

// The polynomial brings singular values of a matrix to between 0.68 and 1.13 (Jordan et al. 2024):
// rows and columns of such a step have squares of about 1 each.
TEST(muon_update, makes_steps_of_equal_size_along_all_directions) {
  const Dims dims{40, 60};
  const Tensor weight(DType::f32, dims);
  Tensor gradient(DType::f32, dims);
  for (std::int64_t i = 0; i < gradient.size(); ++i)
    gradient.set(i, std::sin(static_cast<double>(i * i % 1009)) * (i < 600 ? 100 : 1));
  const MuonUpdate op{.momentum = 0, .nesterov = false, .original_rate = true};
  const Tensor step = run_kernel(op, {weight, gradient, weight, std::nullopt, number(1), number(1),
                                      flag(true), steps(0)})
                          .outputs[0];
  for (std::int64_t row = 0; row < 40; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < 60; ++i) sum += step.at(row * 60 + i) * step.at(row * 60 + i);
    EXPECT_GT(std::sqrt(sum), 0.6) << row;
    EXPECT_LT(std::sqrt(sum), 1.2) << row;
  }
}

TEST(muon_update, keeps_a_second_moment_of_what_is_no_matrix_alone) {
  const UpdateRule rule = muon().rule;
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(rule.moments_of({4, 3}), (Names{"first_moment"}));
  EXPECT_EQ(rule.moments_of({4}), (Names{"first_moment", "second_moment"}));
  EXPECT_EQ(rule.moments_of({4, 3, 3, 3}), (Names{"first_moment", "second_moment"}));
}

TEST(whole_weight_update, wrong_numbers_are_refused) {
  const auto refused = [](const char* optimizer, const char* what, double value) {
    Optimizer one = parse_optimizer(optimizer);
    one.rule.set(what, value);
    EXPECT_THROW(check(one), UsageError) << optimizer << ' ' << what << ' ' << value;
  };
  for (const double value : {-0.1, 1.0, std::nan("")}) {
    refused("lamb", "beta1", value);
    refused("lars", "momentum", value);
    refused("lars", "dampening", value);
    refused("muon", "momentum", value);
  }
  for (const double value : {-1.0, HUGE_VAL, 1e-50}) {
    refused("lamb", "weight_decay", value);
    refused("lars", "trust_coefficient", value);
    refused("muon", "epsilon", value);
  }
}

}  // namespace
}  // namespace narrowgauge::whole_weight_update_test
