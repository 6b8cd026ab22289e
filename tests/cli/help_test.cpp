// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/program.h"
#include "narrowgauge/version.h"

namespace narrowgauge::testing_cli::help_test {
namespace {

TEST(help, of_the_program_lists_its_commands_examples_and_exit_codes) {
  for (const char* flag : {"--help", "-h"}) {
    const Result result = run({flag});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    for (const char* part : {"train", "evaluate", "report", "info", "explain", "doctor", "bench",
                             "simulate", "export", "examples:", "exit codes:", "--version"})
      EXPECT_TRUE(contains(result.out, part)) << part;
  }
}

class CommandHelp : public testing::TestWithParam<const char*> {};

TEST_P(CommandHelp, has_examples_and_flags) {
  const std::string command = GetParam();
  const Result result = run({command, "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, "examples:")) << result.out;
  EXPECT_TRUE(contains(result.out, "narrowgauge " + command)) << result.out;
  EXPECT_TRUE(contains(result.out, "--json")) << result.out;
}

INSTANTIATE_TEST_SUITE_P(All, CommandHelp,
                         testing::Values("train", "evaluate", "predict", "data", "report", "info",
                                         "explain", "doctor", "bench", "formats", "simulate",
                                         "export", "generate"));

TEST(help, of_train_names_every_flag) {
  const std::string out = run({"train", "--help"}).out;
  for (const char* flag :
       {"--model",         "--data",         "--amp",       "--plan",       "--save-plan",
        "--epochs",        "--batch",        "--optimizer", "--lr",         "--schedule",
        "--momentum",      "--weight-decay", "--warmup",    "--clip",       "--seed",
        "--threads",       "--loss-scale",   "--output",    "--resume",     "--weights",
        "--deterministic", "--json",         "--quiet",     "--trace",      "--device",
        "--compare",       "--tolerance",    "--override",  "--math",       "--recompute",
        "--config",        "--dump-config",  "--report",    "--keep-ranges"})
    EXPECT_TRUE(contains(out, flag)) << flag;
}

TEST(help, lines_are_no_wider_than_a_terminal) {
  for (const char* command : {"train", "explain", "bench", "formats"}) {
    const std::string out = run({command, "--help"}).out;
    std::size_t longest = 0;
    for (std::size_t begin = 0; begin < out.size();) {
      const std::size_t end = out.find('\n', begin);
      longest = std::max(longest, end - begin);
      begin = end + 1;
    }
    EXPECT_LE(longest, 100u) << out;
  }
}

TEST(version, is_that_of_the_library) {
  const Result result = run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, std::string("narrowgauge ") + NARROWGAUGE_VERSION + "\n");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::help_test
