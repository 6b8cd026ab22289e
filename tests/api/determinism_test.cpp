// SPDX-License-Identifier: Apache-2.0
// Deterministic mode: the same weights for any number of threads, and after stop and resume.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/small_training.h"
#include "support/earlier_run.h"

namespace narrowgauge::determinism_test {
namespace {

class Determinism : public testing::TestWithParam<std::optional<DType>> {
 protected:
  Optimizer optimizer() const {
    Optimizer optimizer = sgd(0.05);
    optimizer.clip_norm = 5;
    if (GetParam()) enable_mixed_precision(optimizer, *GetParam());
    return optimizer;
  }

  std::string weights_after(int threads, int epochs) const {
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), optimizer(),
                    {.deterministic = true, .threads = threads});
    trainer.fit(small_source(160), nullptr, {.epochs = epochs, .batch = 32});
    return model.sha256();
  }
};

TEST_P(Determinism, one_and_two_threads_give_the_same_bits) {
  EXPECT_EQ(weights_after(1, 3), weights_after(2, 3));
}

TEST_P(Determinism, a_resumed_run_ends_with_the_bits_of_one_that_never_stopped) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("ng_resume_" + std::to_string(getpid()))).string();
  const TrainerOptions options{.deterministic = true};
  {
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), optimizer(), options);
    int steps = 0;  // stops in the middle of the second epoch
    trainer.fit(small_source(160), nullptr, {.epochs = 3, .batch = 32},
                [&](const Progress&) { return ++steps < 8; });
    trainer.save(folder);
  }
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), optimizer(), options);
  trainer.resume(folder);
  trainer.fit(small_source(160), nullptr, {.epochs = 3, .batch = 32});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(model.sha256(), weights_after(0, 3));
}

INSTANTIATE_TEST_SUITE_P(each, Determinism,
                         testing::Values(std::nullopt, std::optional(DType::f16),
                                         std::optional(DType::bf16)));

TEST(checkpoint, refuses_what_does_not_belong_to_it) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("ng_foreign_" + std::to_string(getpid())))
          .string();
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  trainer.step(small_batch(0));
  trainer.save(folder);
  Model other("other", small_network());
  Trainer other_trainer(other, softmax_cross_entropy(), sgd(0.05));
  EXPECT_THROW(other_trainer.resume(folder), DataError);
  Model third("small", small_network());
  Trainer adam_trainer(third, softmax_cross_entropy(), adam());
  EXPECT_THROW(adam_trainer.resume(folder), DataError);
  EXPECT_THROW(other.load(folder + "/latest/state.safetensors"), DataError);
  EXPECT_THROW(trainer.resume(folder + "/nowhere"), DataError);
  std::filesystem::remove_all(folder);
}

// What a save of an earlier version leaves behind when it is killed: the old state or the new one,
// but never none, belongs to the weights that are there.
TEST(checkpoint, reads_the_earlier_form_as_a_kill_left_it) {
  namespace fs = std::filesystem;
  const fs::path base = fs::temp_directory_path() / ("ng_killed_" + std::to_string(getpid()));
  const fs::path early = base / "early", late = base / "late", killed = base / "killed";
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  trainer.step(small_batch(0));
  trainer.save(early);
  trainer.step(small_batch(1));
  trainer.save(late);
  make_earlier_form(early);
  make_earlier_form(late);

  const auto steps_of = [&](const fs::path& weights, bool has_next,
                            const std::function<void(const fs::path&)>& spoil = {}) {
    fs::remove_all(killed);
    fs::create_directories(killed);
    fs::copy_file(weights / "model.safetensors", killed / "model.safetensors");
    fs::copy_file(early / "state.safetensors", killed / "state.safetensors");
    if (has_next) fs::copy_file(late / "state.safetensors", killed / "state.safetensors.next");
    if (spoil) spoil(killed / "state.safetensors.next");
    trainer.resume(killed);
    return trainer.applied_steps();
  };
  EXPECT_EQ(steps_of(early, false), 1);
  EXPECT_EQ(steps_of(early, true), 1);
  EXPECT_EQ(steps_of(late, true), 2);
  const auto truncate = [](const fs::path& file) {
    fs::resize_file(file, fs::file_size(file) / 2);
  };
  EXPECT_EQ(steps_of(early, true, truncate), 1);
  EXPECT_THROW(steps_of(late, false), DataError);
  trainer.save(killed);
  EXPECT_FALSE(fs::exists(killed / "state.safetensors.next"));
  EXPECT_FALSE(fs::exists(killed / "state.safetensors"));
  EXPECT_TRUE(fs::is_symlink(killed / "model.safetensors"));
  model.load(killed);
  fs::remove_all(base);
}

}  // namespace
}  // namespace narrowgauge::determinism_test
