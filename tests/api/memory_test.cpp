// SPDX-License-Identifier: Apache-2.0
// Memory that cannot be had is refused before it is taken, with what was needed and which batch
// fits.
#include "base/files/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/threads/parallel.h"
#include "narrowgauge/model.h"
#include "narrowgauge/models.h"
#include "narrowgauge/out_of_memory.h"

namespace narrowgauge::memory_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // their shadow takes more than any limit of the address space
#else
constexpr bool sanitized = false;
#endif

void limit_address_space(std::int64_t more) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more), RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

// The batch that fits instead, and the whole message; nothing where the prediction was made.
std::optional<std::int64_t> refusal(Model& model, std::int64_t batch, std::string* text = nullptr) {
  try {
    model.predict(Tensor(DType::f32, {batch, 1, 16, 16}));
    return {};
  } catch (const OutOfMemoryError& error) {
    std::fputs(error.what(), stderr);
    if (text) *text = error.what();
    if (error.needed <= error.available) std::exit(3);
    return error.largest_batch;
  }
}

void predict_in_little_memory() {
  const ThreadScope one(1);
  Model model("resnet20", find_model("resnet20", {1, 16, 16}, 10));
  refusal(model, 1);
  limit_address_space(std::int64_t{600} << 20);
  std::string text;
  const std::int64_t fits = refusal(model, 60000, &text).value_or(0);
  for (const std::string& part :
       {std::string("with batch 60000 needs "), std::string(" GiB: activations "),
        concat("can be had; batch ", fits, " fits")})
    if (text.find(part) == std::string::npos) std::exit(1);
  const auto again = refusal(model, fits * 9 / 10);  // the images take memory as well
  std::exit(fits > 100 && !again ? 0 : 2);
}

TEST(memory, a_plan_that_does_not_fit_says_what_it_needs_and_which_batch_fits) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(predict_in_little_memory(), testing::ExitedWithCode(0), "batch 60000 needs");
}

void make_large_tensor() {
  limit_address_space(std::int64_t{300} << 20);
  try {
    const Tensor large(DType::f32, {1000, 1000, 1000});
  } catch (const OutOfMemoryError& error) {
    std::fputs(error.what(), stderr);
    std::exit(0);
  }
  std::exit(1);
}

TEST(memory, a_tensor_that_does_not_fit_says_what_it_needs) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(make_large_tensor(), testing::ExitedWithCode(0),
              "memory: a tensor f32.1000,1000,1000. needs 3.7 GiB; .* can be had");
}

// A source of which nothing is read.
struct Unread : DataSource {
  std::int64_t size() const override { return 1'000'000; }
  TensorTypes sample_types() const override {
    return {{DType::f32, {1, 16, 16}}, {DType::i64, {}}};
  }
  void read(std::span<const std::int64_t>, std::span<Tensor>) override { std::exit(4); }
};

void fit_in_little_memory() {
  Model model("resnet20", find_model("resnet20", {1, 16, 16}, 10));
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  limit_address_space(std::int64_t{600} << 20);
  try {
    trainer.fit(std::make_shared<Unread>(), nullptr, {.epochs = 1, .batch = 20000});
  } catch (const OutOfMemoryError& error) {
    std::fputs(error.what(), stderr);
    std::exit(error.largest_batch > 10 ? 0 : 2);
  }
  std::exit(1);
}

TEST(memory, is_asked_for_before_a_loader_reads) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(fit_in_little_memory(), testing::ExitedWithCode(0),
              "with batch 20000 needs .*, batches .*; batch .* fits");
}

void make_large_network() {
  limit_address_space(std::int64_t{300} << 20);
  try {
    const Model model("vgg19", find_model("vgg19", {3, 224, 224}, 1000));
  } catch (const OutOfMemoryError& error) {
    std::fputs(error.what(), stderr);
    std::exit(0);
  }
  std::exit(1);
}

TEST(memory, weights_that_do_not_fit_are_not_made) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
  EXPECT_EXIT(make_large_network(), testing::ExitedWithCode(0),
              "graph 'vgg19' needs 548 MiB: weights and other states 548 MiB; .* can be had");
}

}  // namespace
}  // namespace narrowgauge::memory_test
