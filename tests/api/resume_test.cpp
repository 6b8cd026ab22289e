// SPDX-License-Identifier: Apache-2.0
// What a resume says of a checkpoint that is of another training.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/small_training.h"
#include "io/files.h"

namespace narrowgauge::resume_test {
namespace {

using testing_files::TemporaryFolder;

std::string error_of(const std::string& folder, const char* name, Optimizer optimizer,
                     std::uint64_t seed) {
  Model model(name, small_network());
  Trainer trainer(model, softmax_cross_entropy(), std::move(optimizer), {.seed = seed});
  const std::string before = model.sha256();
  try {
    trainer.resume(folder);
  } catch (const DataError& error) {
    EXPECT_EQ(model.sha256(), before) << "a refused resume changes nothing";
    return error.what();
  }
  return "no error";
}

TEST(resume, names_all_in_which_a_checkpoint_differs) {
  const TemporaryFolder folder;
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.seed = 1});
  trainer.step(small_batch(0));
  trainer.save(folder / "run");
  const std::string path = folder / "run";
  EXPECT_EQ(error_of(path, "small", sgd(0.1), 1), "no error");
  const std::string seed = error_of(path, "small", sgd(0.1), 2);
  EXPECT_NE(seed.find("is of another training: the seed is '1', here '2'"), std::string::npos)
      << seed;
  const std::string all = error_of(path, "other", adam(), 2);
  for (const char* part : {"the model is 'small', here 'other'", "optimizer is another",
                           "it has no '", "states that this training lacks"})
    EXPECT_NE(all.find(part), std::string::npos) << all;
  Optimizer narrow = sgd(0.1);
  enable_mixed_precision(narrow, DType::bf16);
  const std::string format = error_of(path, "small", narrow, 1);
  EXPECT_NE(format.find("the format is 'f32', here 'bf16'"), std::string::npos) << format;
}

TEST(resume, of_a_run_is_possible_after_another_was_saved_into_its_folder) {
  const TemporaryFolder folder;
  const std::string path = folder / "run";
  std::string shas[2];
  for (int i = 0; i < 2; ++i) {
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.seed = 1});
    for (int step = 0; step <= i; ++step)
      trainer.step(small_batch(static_cast<std::uint64_t>(step)));
    trainer.save(path);
    trainer.save(path);  // the same run, which stays
    shas[i] = model.sha256();
  }
  for (int i = 0; i < 2; ++i) {
    Model model("small", small_network());
    Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.seed = 1});
    trainer.resume(i == 0 ? path + ".1" : path);
    EXPECT_EQ(trainer.applied_steps(), i + 1);
    EXPECT_EQ(model.sha256(), shas[i]);
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".2"));
}

TEST(resume, names_what_its_reader_found_beside_that) {
  const TemporaryFolder folder;
  Model model("small", small_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.seed = 1});
  trainer.step(small_batch(0));
  trainer.save(folder / "run");
  Checkpoint checkpoint = read_checkpoint(folder / "run");
  checkpoint.differences = {"the samples are others", "the moon is full"};
  Trainer other(model, softmax_cross_entropy(), sgd(0.1), {.seed = 2});
  try {
    other.resume(checkpoint);
    FAIL() << "it went on";
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(
        text.ends_with("is of another training: the seed is '1', here '2'; the samples are "
                       "others; the moon is full"))
        << text;
  }
}

}  // namespace
}  // namespace narrowgauge::resume_test
