// SPDX-License-Identifier: Apache-2.0
// Which precisions keep numbers below 2^-126: in answers and in training, on all threads, whatever
// the calling thread has set.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>

#include "api/small_training.h"
#include "base/threads/parallel.h"
#include "narrowgauge/step.h"

namespace narrowgauge::subnormals_test {
namespace {

constexpr std::int64_t count = 50000;  // so that several threads take part
constexpr float tiny = 1e-38F, twice = 2e-38F;

// Twice a subnormal number, divided by it; its logarithm; a product with it.
Value small_numbers(Network& net) {
  const Value x = net.input("x", {1, count});
  const Value w = net.parameter("w", {count, 1}, Initial::constant(1));
  const Value two = net.graph().constant(Tensor::scalar(DType::f32, twice));
  net.output("ratio", net.op("Div", {two, x}));
  net.output("log", net.op("Log", {x}));
  net.output("folded",
             net.op("Div", {two, net.graph().constant(Tensor::scalar(DType::f32, tiny))}));
  net.output("sum", net.op("MatMul", {x, w}));
  net.output("sign", net.op("Sign", {x}));
  return x;
}

std::vector<Tensor> answers(const PrecisionRequest& precision) {
  Model model("small", small_numbers);
  model.set_precision(precision);
  std::vector<Tensor> results;
  for (NamedTensor& each :
       model.run(std::vector<NamedTensor>{{"x", Tensor::full(DType::f32, {1, count}, tiny)}}))
    results.push_back(std::move(each.tensor));
  return results;
}

void expect_kept(const PrecisionRequest& precision) {
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    const std::vector<Tensor> y = answers(precision);
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_NEAR(y[0].at(i), 2, 1e-6) << i;
      ASSERT_NEAR(y[1].at(i), std::log(double{tiny}), 1e-4) << i;
    }
    EXPECT_NEAR(y[2].at(0), 2, 1e-6);
    EXPECT_EQ(y[4].at(count - 1), 1);
    EXPECT_NEAR(y[3].at(0) / (double{tiny} * count), 1, 1e-3);
  }
}

TEST(subnormals, are_kept_in_ieee_in_simulated_units_and_in_f64) {
  expect_kept({.f32_math = Math::ieee});
  expect_kept({.f32_math = simulated(MatrixUnit::ieee)});
  expect_kept({.in_f64 = true});
}

TEST(subnormals, are_kept_where_the_caller_flushes_them) {
  const unsigned own = _mm_getcsr();
  _mm_setcsr(own | 0x8040);
  expect_kept({.f32_math = Math::ieee});
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040U);
  _mm_setcsr(own);
}

TEST(subnormals, are_zero_in_the_fast_modes) {
  for (const Math math : {Math::f32, Math::tf32, Math::bf16x3}) {
    const std::vector<Tensor> y = answers({.f32_math = math});
    EXPECT_TRUE(std::isinf(y[0].at(count - 1))) << name(math);
    EXPECT_EQ(y[3].at(0), 0) << name(math);
    EXPECT_EQ(y[4].at(count - 1), 0) << name(math);
    EXPECT_NEAR(y[2].at(0), 2, 1e-6) << name(math);  // what is computed once keeps them
  }
}

// A step of gradient descent among subnormal numbers, whole and in parts.
TEST(subnormals, train_in_ieee) {
  const auto objective = [](Network& net) {
    const Value x = net.input("x", {2});
    const Value w = net.parameter("w", {2}, Initial::constant(double{3e-39F}));
    return net.op("ReduceSum", {net.op("Mul", {w, x})}, "keepdims=0");
  };
  for (const Math math : {Math::ieee, Math::f32})
    for (const bool whole : {true, false}) {
      Model model("line", objective);
      Optimizer optimizer = sgd(1, 0);
      optimizer.precision.f32_math = math;
      Step step(model, objective, optimizer);
      const Tensor x = Tensor::from<float>({2}, std::vector<float>{1e-39F, -1e-39F});
      if (whole) {
        step.step(std::span(&x, 1));
      } else {
        step.backward(std::span(&x, 1));
        step.update();
      }
      const double unit = math == Math::ieee ? 1e-39 : 0;
      EXPECT_NEAR(model.state("w").at(0), 2 * unit, 1e-44) << name(math) << whole;
      EXPECT_NEAR(model.state("w").at(1), 4 * unit, 1e-44) << name(math) << whole;
    }
}

}  // namespace
}  // namespace narrowgauge::subnormals_test
