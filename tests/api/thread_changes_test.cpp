// SPDX-License-Identifier: Apache-2.0
// A model goes on where another number of threads is in force than when it was compiled.
#include <gtest/gtest.h>

#include "api/programs/program.h"
#include "base/threads/parallel.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::thread_changes_test {
namespace {

constexpr std::int64_t width = 192;

Model wide_model() {
  return Model("wide", [](Network& net) {
    return net.linear(net.input("x", {net.batch(), width}), width);
  });
}

Tensor wide_input(std::int64_t batch) {
  Tensor x(DType::f32, {batch, width});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i % 31 - 15) / 16);
  return x;
}

Tensor predict_with(Model& model, const Tensor& x, int threads) {
  const ThreadScope scope(threads);
  return model.predict(x);
}

void expect_near(const Tensor& got, const Tensor& expected) {
  for (std::int64_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got.at(i), expected.at(i), 1e-5) << i;
}

TEST(thread_changes, a_model_compiled_for_two_threads_predicts_with_one_and_with_three) {
  Model model = wide_model();
  const Tensor x = wide_input(width);
  const Tensor expected = predict_with(model, x, 2);
  for (const int threads : {1, 3, 2}) expect_near(predict_with(model, x, threads), expected);
}

TEST(thread_changes, a_model_compiled_for_two_threads_predicts_inside_a_parallel_body) {
  Model model = wide_model();
  const Tensor x = wide_input(width);
  const ThreadScope scope(2);
  const Tensor expected = model.predict(x);
  parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin == 1) expect_near(model.predict(x), expected);
  });
}

TEST(thread_changes, plans_of_the_threads_and_batches_used_last_are_kept) {
  Graph graph = wide_model().graph(Mode::evaluate);
  StateStore store;
  store.add(graph, 1);
  Program program(graph, {}, store, 1);
  const std::vector<Tensor> one{wide_input(1)}, two{wide_input(2)};
  const auto executor = [&](const std::vector<Tensor>& x, int threads) {
    const ThreadScope scope(threads);
    return program.executor_for(x).get();
  };
  const Executor* const first = executor(one, 1);
  const Executor* const second = executor(one, 2);
  EXPECT_NE(first, second);
  EXPECT_NE(executor(two, 2), second);
  EXPECT_EQ(executor(one, 1), first);
  EXPECT_EQ(executor(one, 2), second);
}

}  // namespace
}  // namespace narrowgauge::thread_changes_test
