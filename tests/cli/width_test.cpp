// SPDX-License-Identifier: Apache-2.0
// What every command prints fits the terminal, or the columns that COLUMNS says.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"
#include "cli/tiny_data.h"

namespace narrowgauge::testing_cli::width_test {
namespace {

std::size_t characters(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void expect_narrow(const Words& command) {
  for (const std::size_t width : {80, 100}) {
    const Result result = run(command, {.variables = {{"COLUMNS", std::to_string(width)}}});
    EXPECT_EQ(result.code, 0) << result.err;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(characters(line), width) << command.front() << ": " << line;
  }
}

TEST(width, of_explain) {
  for (const char* model : {"lenet", "resnet20", "vit-small"}) {
    const Words words{"explain", "--model", model, "--amp", "f16"};
    expect_narrow(words);
    Words all = words;
    all.emplace_back("--all");
    expect_narrow(all);
  }
  expect_narrow({"explain", "--model", "lenet", "--amp", "bf16", "--kernels"});
  expect_narrow({"explain", "--model", "lenet", "--amp", "f16", "--node", "conv1"});
}

TEST(width, of_info) {
  for (const char* model : {"lenet", "resnet50", "bert-base"})
    expect_narrow({"info", "--model", model, "--batch", "8"});
  expect_narrow({"info", "--ops"});
}

TEST(width, of_formats) {
  expect_narrow({"formats"});
  expect_narrow({"formats", "3.14", "65520", "1e-8", "0x1p-24", "1e300", "inf", "nan"});
}

TEST(width, of_simulate) {
  expect_narrow({"simulate", "--list"});
  expect_narrow({"simulate", "--probe"});
  expect_narrow({"simulate", "--unit", "a40", "--dtype", "tf32", "[0, 3.14]", "[[1, 0], [0, 1]]"});
  expect_narrow({"simulate", "--compare", "v100,t4,a100,ada,h100,b200,ieee", "--dtype", "f16",
                 "--random", "8,8,256"});
}

TEST(width, of_doctor) { expect_narrow({"doctor"}); }

TEST(width, of_training_and_what_reads_its_run) {
  testing_files::TemporaryFolder folder;
  const std::string data = write_tiny_data(folder / "data"), output = folder / "run";
  const Words train{"train", "--model", "mlp", "--data", data, "--epochs", "1", "--batch", "32"};
  Words compare = train, keep = train;
  compare.insert(compare.end(), {"--compare", "off,f16,bf16"});
  keep.insert(keep.end(), {"--output", output, "--amp", "f16"});
  expect_narrow(compare);
  ASSERT_EQ(run(keep).code, 0);
  expect_narrow({"formats", "--histogram", output, "--tensors"});
  expect_narrow({"simulate", output, "--unit", "a100"});
}

TEST(width, of_the_help_of_every_command) {
  for (const char* command : {"train", "evaluate", "info", "explain", "doctor", "bench", "simulate",
                              "formats", "completion", "generate"})
    expect_narrow({command, "--help"});
}

// What is copied from an example is the whole command.
TEST(width, of_examples_is_that_of_a_terminal) {
  for (const char* command : {"", "train", "evaluate", "info", "explain", "doctor", "bench",
                              "simulate", "formats", "generate"}) {
    const Words words = *command ? Words{command, "--help"} : Words{"--help"};
    const auto examples = [&](const char* columns) {
      std::istringstream lines(run(words, {.variables = {{"COLUMNS", columns}}}).out);
      Words found;
      for (std::string line; std::getline(lines, line);)
        if (contains(line, "  narrowgauge ")) found.push_back(line);
      return found;
    };
    EXPECT_FALSE(examples("80").empty()) << command;
    EXPECT_EQ(examples("80"), examples("300")) << command;
  }
}

TEST(width, is_that_of_the_terminal) {
  if (!has_terminals()) GTEST_SKIP() << "no terminals here";
  const Words words{"explain", "--model", "lenet", "--amp", "f16"};
  EXPECT_TRUE(contains(run(words, {.columns = 80}).out, "(left out:"));
  EXPECT_FALSE(contains(run(words, {.columns = 200}).out, "(left out:"));
}

TEST(width, is_eighty_in_a_pipe) {
  EXPECT_TRUE(contains(run({"explain", "--model", "lenet"}).out, "(left out:"));
}

}  // namespace
}  // namespace narrowgauge::testing_cli::width_test
