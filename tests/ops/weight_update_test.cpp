// SPDX-License-Identifier: Apache-2.0
// Three steps of each optimizer against PyTorch's weights; what skipping, scaling and narrow copies
// must do.
#include "ops/training/weight_update.h"

#include <gtest/gtest.h>

#include "ops/gradient_run.h"

namespace narrowgauge::weight_update_test {
namespace {

Tensor flag(bool value) { return Tensor::scalar(DType::boolean, value); }
Tensor number(double value) { return Tensor::scalar(DType::f32, value); }

// The gradients that the Python had, times a loss scale.
Tensor gradient(int step, double scale, DType dtype = DType::f32) {
  Tensor tensor = pattern(DType::f64, {23}, 2 + step);
  for (std::int64_t i = 0; i < 23; ++i) tensor.set(i, tensor.at(i) * 0.5 * scale);
  return tensor.cast(dtype);
}

// Three steps from pattern 1; the gradients carry a loss scale of 256.
Tensor train(const SgdUpdate& op, const KernelRun& how, DType gradients = DType::f32) {
  Tensor weight = pattern(DType::f32, {23}, 1), velocity(DType::f32, {23});
  for (int step = 0; step < 3; ++step) {
    const auto result = run_kernel(op,
                                   {weight, gradient(step, 256, gradients), velocity, number(0.1),
                                    number(1.0 / 256), flag(true)},
                                   how);
    weight = result.outputs[0];
    velocity = result.outputs[1];
  }
  return weight;
}

Tensor train(const AdamUpdate& op, KernelRun how) {
  how.unread = {3};  // what only AMSGrad keeps
  Tensor weight = pattern(DType::f32, {23}, 1), first(DType::f32, {23}), second(DType::f32, {23});
  for (int step = 0; step < 3; ++step) {
    const auto result =
        run_kernel(op,
                   {weight, gradient(step, 256), first, second, std::nullopt, number(0.1),
                    number(1.0 / 256), flag(true), Tensor::scalar(DType::i64, step)},
                   how);
    weight = result.outputs[0];
    first = result.outputs[1];
    second = result.outputs[2];
  }
  return weight;
}

TEST(weight_update, three_steps_are_those_of_pytorch) {
  const SgdUpdate momentum{.momentum = 0.9, .weight_decay = 0.01};
  const SgdUpdate nesterov{.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
  const AdamUpdate adam{.weight_decay = 0.01};
  const AdamUpdate adamw{
      .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0.01, .decoupled = true};
  for (const bool reference : {true, false}) {
    const KernelRun how{.kernel = reference ? "reference" : "rows"};
    EXPECT_NEAR(fingerprint(train(momentum, how)), -13.635451280359376, 3e-5);
    EXPECT_NEAR(fingerprint(train(nesterov, how)), -15.490771582861516, 3e-5);
    EXPECT_NEAR(fingerprint(train(adam, how)), -13.339016740201659, 3e-5);
    EXPECT_NEAR(fingerprint(train(adamw, how)), -13.389160281807861, 3e-5);
    // The pattern times 256 is exact in f16.
    EXPECT_NEAR(fingerprint(train(momentum, how, DType::f16)), -13.635451280359376, 3e-5);
  }
}

TEST(weight_update, plain_descent_needs_no_velocity) {
  Tensor weight = pattern(DType::f32, {23}, 1);
  for (int step = 0; step < 3; ++step)
    weight =
        run_kernel(SgdUpdate{},
                   {weight, gradient(step, 1), std::nullopt, number(0.1), number(1), flag(true)},
                   {.kernel = "rows", .unread = {1, 2}})
            .outputs[0];
  EXPECT_NEAR(fingerprint(weight), -11.9650390625, 3e-5);
}

TEST(weight_update, a_skipped_step_changes_no_bit) {
  Tensor infinite = gradient(0, 1);
  infinite.set(7, std::numeric_limits<double>::infinity());
  const Tensor weight = pattern(DType::f32, {23}, 1), first = pattern(DType::f32, {23}, 2),
               second = pattern(DType::f32, {23}, 3);
  for (const char* kernel : {"rows", "reference"}) {
    const auto sgd = run_kernel(SgdUpdate{.momentum = 0.9, .narrow = DType::bf16},
                                {weight, infinite, first, number(0.1), number(1), flag(false)},
                                {.kernel = kernel});
    EXPECT_TRUE(sgd.outputs[0].same_bits(weight));
    EXPECT_TRUE(sgd.outputs[1].same_bits(first));
    EXPECT_TRUE(sgd.outputs[2].same_bits(weight.cast(DType::bf16)));
    const auto adam = run_kernel(AdamUpdate{.narrow = DType::f16},
                                 {weight, infinite, first, second, std::nullopt, number(0.1),
                                  number(1), flag(false), Tensor::scalar(DType::i64, 3)},
                                 {.kernel = kernel, .unread = {3}});
    EXPECT_TRUE(adam.outputs[0].same_bits(weight));
    EXPECT_TRUE(adam.outputs[1].same_bits(first));
    EXPECT_TRUE(adam.outputs[2].same_bits(second));
    EXPECT_TRUE(adam.outputs[4].same_bits(weight.cast(DType::f16)));
  }
}

TEST(weight_update, the_narrow_copy_is_the_new_weight_rounded) {
  for (const DType narrow : {DType::f16, DType::bf16}) {
    const auto result = run_kernel(SgdUpdate{.momentum = 0.9, .narrow = narrow},
                                   {pattern(DType::f32, {23}, 1), gradient(0, 1),
                                    Tensor(DType::f32, {23}), number(0.1), number(1), flag(true)},
                                   {.kernel = "rows"});
    EXPECT_TRUE(result.outputs[2].same_bits(result.outputs[0].cast(narrow)));
  }
}

TEST(weight_update, fast_kernels_agree_with_the_reference) {
  // Samples read all results, and a moment that the rule does not keep only the reference makes;
  // two more have weights in bf16.
  const KernelRun rows{.kernel = "rows", .no_narrow_inputs = true};
  EXPECT_EQ(expect_kernel_matches_reference<SgdUpdate>(DType::f32, rows),
            static_cast<int>(samples_of<SgdUpdate>().size()) - 4);
  EXPECT_EQ(expect_kernel_matches_reference<AdamUpdate>(DType::f32, rows),
            static_cast<int>(samples_of<AdamUpdate>().size()) - 4);
}

TEST(weight_update, new_values_may_lie_on_the_old_ones) {
  const auto offers = [](const OpRecord& op, const Attributes& attributes) {
    const Operand vector{.dims = {4}, .strides = {1}};
    const Operand scalar{};
    std::vector<Operand> inputs{vector, vector, vector, scalar, scalar, scalar};
    std::vector<Operand> outputs(3, vector);
    const Target target = Target::machine();
    const Request request{op, attributes, inputs, outputs, target, Math::none, "update", false};
    return choose_kernel(request, false).in_place.size();
  };
  EXPECT_EQ(offers(record_of<SgdUpdate>(), Attributes::of(SgdUpdate{.momentum = 0.9})), 2U);
}

TEST(weight_update, wrong_attributes_are_refused) {
  Graph graph;
  const Value w = graph.input("w", TensorType::parse("f32[3]"));
  const Value x = graph.input("x", TensorType::parse("f32[4]"));
  const Value rate = graph.input("rate", TensorType::parse("f32[]"));
  const Value applied = graph.input("applied", TensorType::parse("bool[]"));
  const auto sgd = [&](SgdUpdate op, Value g, Value v) {
    graph.add(op, {w, g, v, rate, rate, applied});
  };
  EXPECT_NO_THROW(sgd({}, w, absent));
  EXPECT_THROW(sgd({}, x, absent), UsageError);
  EXPECT_THROW(sgd({.momentum = 0.9}, w, absent), UsageError);
  EXPECT_THROW(sgd({.momentum = 1.5}, w, w), UsageError);
  EXPECT_THROW(sgd({.nesterov = true}, w, w), UsageError);
  EXPECT_THROW(sgd({.weight_decay = -1}, w, absent), UsageError);
}

}  // namespace
}  // namespace narrowgauge::weight_update_test
