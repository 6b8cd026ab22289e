// SPDX-License-Identifier: Apache-2.0
// One model, many threads that predict with it, and one that changes it meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/small_training.h"
#include "io/files.h"

namespace narrowgauge::concurrent_predict_test {
namespace {

constexpr int thread_number = 8;

// Runs body(thread) in all threads at once; tests go on after the last.
template <class Body>
void in_threads(const Body& body) {
  std::atomic<int> waiting = thread_number;
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_number; ++t)
    threads.emplace_back([&, t] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      body(t);
    });
  for (std::thread& thread : threads) thread.join();
}

// Five shapes, more than a program keeps plans of.
Tensor input_of(int thread, std::uint64_t round) {
  return small_batch(100 * round + static_cast<std::uint64_t>(thread), 1 + thread % 5)[0];
}

void expect_equal_to_serial(PrecisionRequest precision) {
  constexpr std::uint64_t rounds = 4;
  Model model("small", small_network(), 3);
  model.set_precision(precision);
  std::vector<std::vector<Tensor>> expected(thread_number);
  for (int t = 0; t < thread_number; ++t)
    for (std::uint64_t round = 0; round < rounds; ++round)
      expected[static_cast<std::size_t>(t)].push_back(model.predict(input_of(t, round)));
  Model shared("small", small_network(), 3);  // not compiled yet
  shared.set_precision(precision);
  std::atomic<int> differ = 0;
  in_threads([&](int t) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const Tensor got = shared.predict(input_of(t, round));
      differ += !got.same_bits(expected[static_cast<std::size_t>(t)][round]);
    }
  });
  EXPECT_EQ(differ, 0);
}

TEST(concurrent_predict, eight_threads_on_one_model_equal_one_after_the_other) {
  expect_equal_to_serial({});
}

TEST(concurrent_predict, so_they_do_in_mixed_precision) {
  expect_equal_to_serial(PrecisionRequest{.narrow = DType::bf16});
  expect_equal_to_serial(PrecisionRequest{.narrow = DType::f16});
}

// Each prediction is of the weights before or of those after, never of a mixture.
TEST(concurrent_predict, a_load_comes_between_predictions) {
  const testing_files::TemporaryFolder folder;
  Model model("small", small_network(), 1);
  const Tensor x = small_batch(0, 4)[0];
  std::vector<Tensor> of_seed;
  for (const std::uint64_t seed : {1, 2}) {
    Model one("small", small_network(), seed);
    of_seed.push_back(one.predict(x));
    one.save(folder / concat(seed, ".safetensors"));
  }
  ASSERT_FALSE(of_seed[0].same_bits(of_seed[1]));
  std::atomic<int> mixtures = 0;
  in_threads([&](int t) {
    for (int round = 0; round < 20; ++round) {
      if (t == 0) model.load(folder / concat(1 + round % 2, ".safetensors"));
      if (t == 1) model.save(folder / "copy.safetensors");
      const Tensor got = model.predict(x);
      mixtures += !got.same_bits(of_seed[0]) && !got.same_bits(of_seed[1]);
    }
  });
  EXPECT_EQ(mixtures, 0);
}

TEST(concurrent_predict, training_gets_its_turn_and_is_not_disturbed) {
  constexpr std::uint64_t steps = 10;
  const auto train = [](Model& model) {
    Optimizer optimizer = sgd(0.05);
    enable_mixed_precision(optimizer, DType::bf16);
    Trainer trainer(model, softmax_cross_entropy(), optimizer, {.deterministic = true});
    for (std::uint64_t step = 0; step < steps; ++step) trainer.step(small_batch(step, 8));
    EXPECT_EQ(trainer.evaluate(small_source(32)).samples, 32);
  };
  Model alone("small", small_network(), 3);
  train(alone);
  Model model("small", small_network(), 3);
  std::atomic<bool> trained = false;
  in_threads([&](int t) {
    if (t == 0) {
      train(model);
      trained = true;
    }
    while (!trained) model.predict(input_of(t, 0));
  });
  EXPECT_EQ(model.sha256(), alone.sha256());
}

TEST(concurrent_predict, an_input_that_does_not_fit_disturbs_no_other_thread) {
  Model model("small", small_network(), 3);
  const Tensor x = small_batch(0, 4)[0], expected = model.predict(x);
  std::atomic<int> differ = 0, refused = 0;
  in_threads([&](int t) {
    for (int round = 0; round < 10; ++round) {
      if (t % 2 == 0) {
        differ += !model.predict(x).same_bits(expected);
        continue;
      }
      try {
        model.predict(Tensor(DType::f32, {4, 2, 12, 12}));
      } catch (const UsageError&) {
        ++refused;
      }
    }
  });
  EXPECT_EQ(differ, 0);
  EXPECT_EQ(refused, 10 * thread_number / 2);
}

}  // namespace
}  // namespace narrowgauge::concurrent_predict_test
