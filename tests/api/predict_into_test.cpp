// SPDX-License-Identifier: Apache-2.0
// Answers into memory that the caller has.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "api/small_training.h"
#include "narrowgauge/narrowgauge.h"
#include "support/own_process.h"

namespace narrowgauge::predict_into_test {
namespace {

using testing_support::ends_by_usage_error;

BuildNetwork two_outputs() {
  return [](Network& net) {
    const Value x = net.input("x", {net.batch(), 8});
    net.output("hidden", net.relu(net.linear(x, 16)));
    net.output("scores", net.linear(net.find_output("hidden"), 4));
    return net.find_output("scores");
  };
}

Tensor counted(std::int64_t rows) {
  Tensor x(DType::f32, {rows, 8});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, 0.01 * static_cast<double>(i % 37) - 0.2);
  return x;
}

std::vector<Tensor> memory_for(std::int64_t rows) {
  return {Tensor(DType::f32, {rows, 16}), Tensor(DType::f32, {rows, 4})};
}

void expect_same_answers(auto& answering, const Tensor& x) {
  const std::vector<NamedTensor> expected = answering.run(std::vector<NamedTensor>{{"x", x}});
  std::vector<Tensor> outputs = memory_for(x.dims()[0]);
  const std::byte* const memory = outputs[1].data();
  for (int again = 0; again < 2; ++again) {
    answering.predict(std::span(&x, 1), outputs);
    EXPECT_TRUE(outputs[0].same_bits(expected[0].tensor));
    EXPECT_TRUE(outputs[1].same_bits(expected[1].tensor));
  }
  EXPECT_EQ(outputs[1].data(), memory);
}

TEST(predict_into, gives_the_answers_of_run_in_the_order_of_outputs) {
  Model model("two", two_outputs());
  const Engine engine = convert(model, {.precision = EnginePrecision::f32});
  for (const std::int64_t rows : {1, 3, 200}) {
    expect_same_answers(model, counted(rows));
    expect_same_answers(engine, counted(rows));
  }
}

TEST(predict_into, takes_one_input_and_one_output) {
  Model model("small", small_network());
  const Tensor images = small_batch(0)[0];
  Tensor scores(DType::f32, {32, 4});
  model.predict(images, scores);
  EXPECT_TRUE(scores.same_bits(model.predict(images)));
  const Engine engine = convert(model, {.precision = EnginePrecision::f32});
  engine.predict(images, scores);
  EXPECT_TRUE(scores.same_bits(engine.predict(images)));
}

TEST(predict_into, refuses_memory_of_another_type_or_number_and_writes_nothing) {
  Model model("two", two_outputs());
  const Tensor x = counted(3);
  const auto refuses = [&](std::vector<Tensor> outputs, const std::string& message) {
    for (int again = 0; again < 2; ++again) {
      EXPECT_TRUE(ends_by_usage_error([&] { model.predict(std::span(&x, 1), outputs); }, message));
      model.predict(x);  // now there is a plan
    }
    for (const Tensor& output : outputs)
      for (std::int64_t i = 0; i < output.size(); ++i) EXPECT_EQ(output.at(i), 0);
  };
  std::vector<Tensor> good = memory_for(3);
  refuses({good[0]}, "has 2 outputs, got memory for 1");
  refuses({good[0], good[1], good[1]}, "has 2 outputs, got memory for 3");
  refuses({good[1], good[0]}, "output 'hidden' is f32[3,16], got memory for f32[3,4]");
  refuses({good[0], Tensor(DType::f64, {3, 4})},
          "output 'scores' is f32[3,4], got memory for f64[3,4]");
  refuses(memory_for(4), "output 'hidden' is f32[3,16], got memory for f32[4,16]");
  refuses({good[0], Tensor()}, "output 'scores' is f32[3,4], got memory for f32[0]");
}

TEST(predict_into, refuses_memory_of_an_input_or_of_another_output) {
  Model same("same", [](Network& net) {
    const Value x = net.input("x", {net.batch(), 8});
    net.output("a", net.relu(x));
    net.output("b", x);
    return x;
  });
  const Tensor x = counted(2);
  const Tensor fresh(DType::f32, {2, 8});
  const auto outcome = [&](std::vector<Tensor> outputs, const std::string& message) {
    return ends_by_usage_error([&] { same.predict(std::span(&x, 1), outputs); }, message);
  };
  EXPECT_TRUE(outcome({x, fresh}, "output 'a' was given memory of input 'x'"));
  EXPECT_TRUE(outcome({fresh, x}, "output 'b' was given memory of input 'x'"));
  EXPECT_TRUE(outcome({fresh, fresh}, "outputs 'a' and 'b' were given the same memory"));
  EXPECT_TRUE(outcome({fresh, fresh.reshaped({2, 8})}, "were given the same memory"));
}

TEST(predict_into, answers_a_large_batch_in_parts) {
  Model model("small", small_network());
  const Tensor images = small_batch(0, 4096)[0];
  Tensor scores(DType::f32, {4096, 4});
  model.predict(images, scores);
  EXPECT_TRUE(scores.same_bits(model.predict(images)));
}

TEST(predict_into, answers_threads_each_into_its_own) {
  Model model("two", two_outputs());
  const Engine engine = convert(model, {.precision = EnginePrecision::f32});
  std::vector<std::thread> threads;
  for (std::int64_t rows = 1; rows <= 4; ++rows)
    threads.emplace_back([&, rows] {
      for (int again = 0; again < 20; ++again) expect_same_answers(engine, counted(rows));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace narrowgauge::predict_into_test
