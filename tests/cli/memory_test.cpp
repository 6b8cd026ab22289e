// SPDX-License-Identifier: Apache-2.0
// Where memory is short a command says so in one line before it takes any, with what it needs and
// which batch fits; what only tells about networks makes no weights.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/program.h"

namespace narrowgauge::testing_cli::memory_test {
namespace {

class LittleMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's shadow memory leaves no limit to set";
#endif
  }
  static Result run_in(std::int64_t mebibytes, const Words& words) {
    return run(words, {.variables = {{"NARROWGAUGE_KERNEL_CACHE", "off"}},
                       .address_space = mebibytes << 20});
  }
};

void expect_refusal(const Result& result, const Words& parts) {
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  for (const std::string& part : parts) EXPECT_TRUE(contains(result.err, part)) << result.err;
}

// The batch that a message names which ends with "...; batch 2300 fits".
std::int64_t batch_that_fits(const std::string& text) {
  const std::size_t place = text.find("can be had; batch ");
  return place == std::string::npos ? 0 : std::atoll(text.c_str() + place + 18);
}

TEST_F(LittleMemory, training_and_evaluation_name_the_batch_that_fits_before_they_make_one) {
  const testing_files::TemporaryFolder folder;
  const std::string output = folder / "run";
  const auto train = [&](std::int64_t batch) {
    return run_in(700, {"train", "--model", "lenet", "--data", "glyphs", "--epochs", "1", "--batch",
                        std::to_string(batch), "--output", output});
  };
  const Result refused = train(20000);
  expect_refusal(refused,
                 {"memory: graph 'lenet' with batch 20000 needs ", ": activations ", ", batches "});
  EXPECT_FALSE(std::filesystem::exists(output + "/latest"));
  const std::int64_t fits = batch_that_fits(refused.err);
  EXPECT_GT(fits, 100);
  const Result trained = train(fits * 9 / 10);
  EXPECT_EQ(trained.code, 0) << trained.err;
  const Result evaluated = run_in(300, {"evaluate", output, "--batch", "4000"});
  expect_refusal(evaluated, {"with batch 4000 needs ", ", batches "});
  EXPECT_GT(batch_that_fits(evaluated.err), 10) << evaluated.err;
}

TEST_F(LittleMemory, bench_names_the_batch_that_fits) {
  const Result refused =
      run_in(1000, {"bench", "--model", "resnet20", "--precision", "f32", "--batch", "5000"});
  expect_refusal(refused, {"memory: resnet20 in f32 with batch 5000 needs ", "a batch "});
  EXPECT_GT(batch_that_fits(refused.err), 10);
}

TEST_F(LittleMemory, weights_that_do_not_fit_are_not_made) {
  expect_refusal(run_in(500, {"train", "--model", "vgg19", "--data", "glyphs"}),
                 {"memory: graph 'vgg19' needs ", ": weights and other states "});
}

TEST_F(LittleMemory, a_product_is_refused_before_it_is_computed) {
  expect_refusal(run_in(500, {"simulate", "--unit", "a100", "--random", "9000,9000,64"}),
                 {"memory: simulate: [9000,64] x [64,9000] needs ", ": operands ", ", results ",
                  ", the exact product 1.8 GiB; "});
}

TEST_F(LittleMemory, what_tells_about_networks_makes_no_weights) {
  for (const Words& words :
       {Words{"explain", "--model", "vgg19", "--amp", "f16", "--batch", "100000"},
        Words{"info", "--model", "vgg19", "--batch", "100000"}}) {
    const Result result = run_in(500, words);
    EXPECT_EQ(result.code, 0) << result.err;
  }
}

}  // namespace
}  // namespace narrowgauge::testing_cli::memory_test
