// SPDX-License-Identifier: Apache-2.0
// At the end of a program destructors of static objects, and threads that still run, use networks.
// Each of these programs is a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::process_end_test {
namespace {

using testing_files::TemporaryFolder;

constexpr int wrong_bits = 3;

// Ends the process after `before`, and uses networks in the destructor of an object that was made
// before the library made anything.
[[noreturn]] void use_at_the_end(void (*before)(), void (*at_the_end)()) {
  struct UsedLast {
    void (*use)();
    ~UsedLast() { use(); }
  };
  static const UsedLast last{at_the_end};
  before();
  std::exit(0);
}

std::string trained(std::optional<DType> narrow, int threads) {
  Optimizer optimizer = sgd(0.05);
  if (narrow) enable_mixed_precision(optimizer, *narrow);
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), optimizer,
                  {.deterministic = true, .threads = threads});
  for (std::uint64_t step = 0; step < 3; ++step) trainer.step(small_batch(step));
  return model.sha256();
}

// The prediction of a network that lives on.
Tensor predicted() {
  static Model& model = *new Model("small", small_network(), 3);
  return model.predict(small_batch(1)[0]);
}

// Makes tables of all kinds.
void use_all() {
  for (const auto narrow : {std::optional<DType>(), std::optional(DType::bf16)}) trained(narrow, 2);
  const auto data = small_source(64);
  Model model("small", small_network());
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = data;
  const TemporaryFolder folder;
  convert(model, options).save(folder / "small.onnx");
  Engine::open(folder / "small.onnx").predict(small_batch(1)[0]);
  Trainer trainer(model, softmax_cross_entropy(), adam(0.01));
  trainer.fit(data, data, {.epochs = 1, .batch = 32});
  trainer.save(folder / "run");
  trainer.resume(folder / "run");
  draw_glyphs(1, 4, 4);
}

void expect_to_end_well(void (*before)(), void (*at_the_end)()) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(use_at_the_end(before, at_the_end), testing::ExitedWithCode(0), "");
}

TEST(process_end, a_static_object_uses_all_for_the_first_time) {
  expect_to_end_well([] {}, [] { use_all(); });
}

TEST(process_end, a_static_object_uses_all_again) {
  expect_to_end_well([] { use_all(); }, [] { use_all(); });
}

TEST(process_end, a_static_object_gets_the_same_bits_as_the_program_before) {
  static std::string* const before = new std::string;
  static Tensor* const answer = new Tensor;
  expect_to_end_well(
      [] {
        *before = trained({}, 2) + trained(DType::f16, 2);
        *answer = predicted();
      },
      [] {
        const bool same =
            trained({}, 2) + trained(DType::f16, 2) == *before && predicted().same_bits(*answer);
        if (!same) std::_Exit(wrong_bits);
      });
}

// Half of the threads use one network again and again, the others make new ones.
void start_threads() {
  for (int t = 0; t < 4; ++t)
    std::thread([t] {
      const auto input = small_batch(1)[0];
      for (std::uint64_t seed = 0;; ++seed) {
        Model model("small", small_network(), seed);
        if (t % 2 == 0) model.set_precision({.narrow = DType::bf16});
        for (int repeat = 0; repeat < (t < 2 ? 1 : 1'000'000); ++repeat) model.predict(input);
      }
    }).detach();
}

[[noreturn]] void end_while_threads_predict(int milliseconds) {
  start_threads();
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  std::exit(0);
}

TEST(process_end, threads_predict_until_then) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 20; ++i)
    EXPECT_EXIT(end_while_threads_predict(5 * i), testing::ExitedWithCode(0), "") << i;
}

TEST(process_end, a_static_object_joins_a_thread_that_predicts) {
  static std::atomic<bool> enough = false;
  static std::thread* predicting = nullptr;
  expect_to_end_well(
      [] {
        predicting = new std::thread([] {
          while (!enough) predicted();
        });
        predicted();
      },
      [] {
        for (int i = 0; i < 10; ++i) predicted();
        enough = true;
        predicting->join();
      });
}

}  // namespace
}  // namespace narrowgauge::process_end_test
