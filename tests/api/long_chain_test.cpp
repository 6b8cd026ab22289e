// SPDX-License-Identifier: Apache-2.0
// Networks of long chains of nodes, in threads with a small stack, as servers and other languages
// make them.
#include <gtest/gtest.h>

#include "narrowgauge/narrowgauge.h"
#include "support/small_stack.h"

namespace narrowgauge::long_chain_test {
namespace {

constexpr std::int64_t width = 2;

// h = tanh(x_t + U h), over the steps of x [N, T, width].
BuildNetwork unrolled(std::int64_t steps) {
  return [steps](Network& net) {
    const Value x = net.input("x", {net.batch(), steps, width});
    const Value u = net.parameter("u", {width, width}, Initial::normal(0, 0.3));
    Value h;
    for (std::int64_t t = 0; t < steps; ++t) {
      const Value now = net.reshape(net.slice(x, 1, t, t + 1), {net.batch(), width});
      h = net.tanh(t == 0 ? now : net.add(now, net.op("MatMul", {h, u})));
    }
    return net.linear(h, 2);
  };
}

TEST(long_chain, is_trained_and_answers_on_a_small_stack) {
  constexpr std::int64_t steps = 600;
  EXPECT_EQ(testing_support::on_small_stack([] {
              Model model("unrolled", unrolled(steps));
              const Tensor x(DType::f32, {3, steps, width});
              EXPECT_EQ(model.predict(x).dims(), (Dims{3, 2}));
              Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
              const Tensor batch[] = {x, Tensor(DType::i64, {3})};
              EXPECT_TRUE(trainer.step(batch).applied());
            }),
            "");
}

TEST(long_chain, is_trained_in_16_bits_on_a_small_stack) {
  EXPECT_EQ(testing_support::on_small_stack([] {
              Model model("narrow", unrolled(300));
              Optimizer optimizer = sgd(0.1);
              enable_mixed_precision(optimizer, DType::bf16);
              Trainer trainer(model, softmax_cross_entropy(), optimizer);
              const Tensor batch[] = {Tensor(DType::f32, {3, 300, width}), Tensor(DType::i64, {3})};
              EXPECT_TRUE(trainer.step(batch).applied());
            }),
            "");
}

}  // namespace
}  // namespace narrowgauge::long_chain_test
