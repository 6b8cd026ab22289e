// SPDX-License-Identifier: Apache-2.0
// Where memory does not suffice, training computes results again, says so, and gives the same bits.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/threads/parallel.h"
#include "narrowgauge/log.h"
#include "narrowgauge/narrowgauge.h"
#include "narrowgauge/out_of_memory.h"

namespace narrowgauge::recompute_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // their shadow takes more than any limit of the address space
#else
constexpr bool sanitized = false;
#endif

constexpr std::int64_t batch = 512;

void limit_address_space(std::int64_t more) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more), RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

std::array<Tensor, 2> images() {
  std::array<Tensor, 2> tensors{Tensor(DType::f32, {batch, 1, 16, 16}),
                                Tensor(DType::i64, {batch})};
  const auto pixels = tensors[0].values<float>();
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 101) / 50;
  const auto labels = tensors[1].values<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 10);
  return tensors;
}

struct Trained {
  double loss = 0;
  std::string weights;
  std::int64_t activations = 0;
  RecomputeReport recomputed;
};

Trained train(Recompute recompute) {
  Model model("resnet20", find_model("resnet20", {1, 16, 16}, 10));
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1),
                  {.deterministic = true, .recompute = recompute});
  const auto tensors = images();
  Trained result;
  for (int i = 0; i < 2; ++i) result.loss = trainer.step(tensors).loss;
  result.weights = model.sha256();
  result.activations = trainer.activation_bytes();
  result.recomputed = trainer.recomputed();
  return result;
}

void require_that(bool holds, const char* what) {
  if (holds) return;
  std::fputs(what, stderr);
  std::exit(1);
}

void train_in_little_memory() {
  const ThreadScope one(1);
  static std::string notice;
  set_log_sink([](LogLevel level, const std::string& message) {
    if (level == LogLevel::info) notice += message;
  });
  const Trained whole = train(Recompute::automatic);
  require_that(whole.recomputed.nodes.empty() && notice.empty(), "recomputed without need");
  const auto leave_too_little = [&] {
    limit_address_space(whole.activations * 85 / 100 + (std::int64_t{36} << 20));
  };
  leave_too_little();
  try {
    train(Recompute::off);
    require_that(false, "not refused");
  } catch (const OutOfMemoryError& error) {
    require_that(error.largest_batch > 10 && error.largest_batch < batch, "the batch that fits");
  }
  leave_too_little();  // again: code that oneDNN made for what was refused takes some of it
  const Trained less = train(Recompute::automatic);
  require_that(less.loss == whole.loss && less.weights == whole.weights, "other bits");
  require_that(less.activations + less.recomputed.saved_bytes == whole.activations, "saved bytes");
  require_that(!less.recomputed.nodes.empty() && less.recomputed.flops > 0, "no report");
  std::fputs(notice.c_str(), stderr);
  std::exit(0);
}

TEST(recompute, gives_the_same_bits_in_less_memory_and_says_so) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(train_in_little_memory(), testing::ExitedWithCode(0),
              "^memory: graph 'resnet20' with batch 512 computes [0-9]+ results again in the "
              "backward pass: that saves [0-9.]+ MiB for [0-9.]+ Mflop a step$");
}

// How many images fit into a byte of what there is; 0 where nothing was refused.
double refused(Recompute recompute) {
  try {
    train(recompute);
  } catch (const OutOfMemoryError& error) {
    std::fputs(error.what(), stderr);
    return static_cast<double>(error.largest_batch) / static_cast<double>(error.available);
  }
  return 0;
}

void be_refused() {
  const ThreadScope one(1);
  limit_address_space(std::int64_t{140} << 20);
  const double without = refused(Recompute::off), with = refused(Recompute::automatic);
  std::exit(without > 0 && with > without * 5 / 4 ? 0 : 1);
}

TEST(recompute, counts_in_the_batch_that_fits) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(be_refused(), testing::ExitedWithCode(0),
              "batch 512 needs .*batch 512, [0-9]+ results computed again, needs .*fits");
}

}  // namespace
}  // namespace narrowgauge::recompute_test
