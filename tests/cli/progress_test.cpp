// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program.h"
#include "cli/tiny_data.h"

namespace narrowgauge::testing_cli::progress_test {
namespace {

class Shown : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_terminals()) GTEST_SKIP() << "no pseudo-terminals here: is /dev/pts mounted?";
    write_tiny_data(folder_ / "data");
  }
  Words train(const Words& more) const {
    Words words{"train",    "--model", "mlp",     "--data", folder_ / "data",
                "--epochs", "3",       "--batch", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  testing_files::TemporaryFolder folder_;
};

// What stays visible between one redrawing and the next, colours taken out.
std::vector<std::string> drawn_lines(const std::string& out) {
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\033') {
      i = out.find_first_of("mK", i);
    } else if (out[i] == '\r' || out[i] == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += out[i];
    }
  }
  return lines;
}

TEST_F(Shown, on_a_terminal_a_bar_is_redrawn) {
  const Result result = run(train({}), {.columns = 100});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(contains(result.out, "\r\033[K"));
  EXPECT_TRUE(contains(result.out, "\033[32m=")) << result.out;
  for (const char* part : {"epoch 1/3", "samples/s", "ETA", "loss", "100 %"})
    EXPECT_TRUE(contains(result.out, part)) << part;
}

TEST_F(Shown, bar_fits_the_terminal) {
  for (const int columns : {30, 60, 120}) {
    const Result result = run(train({"--amp", "f16"}), {.columns = columns});
    EXPECT_EQ(result.code, 0) << result.out;
    int bars = 0;
    for (const std::string& line : drawn_lines(result.out)) {
      if (!contains(line, " % ") && !line.ends_with(" %")) continue;
      if (!contains(line, "[")) continue;
      ++bars;
      EXPECT_LT(static_cast<int>(line.size()), columns) << line;
    }
    EXPECT_GT(bars, 0) << columns << ": " << result.out;
  }
}

TEST_F(Shown, loss_scale_and_skipped_steps_are_in_the_bar) {
  const Result result = run(train({"--amp", "f16"}), {.columns = 120});
  EXPECT_TRUE(contains(result.out, "scale ")) << result.out;
  EXPECT_TRUE(contains(result.out, "skipped ")) << result.out;
}

TEST_F(Shown, without_colours_where_they_are_not_wanted) {
  const Result result = run(train({}), {.variables = {{"NO_COLOR", "1"}}, .columns = 100});
  EXPECT_TRUE(contains(result.out, "\r\033[K"));
  EXPECT_TRUE(contains(result.out, "[==")) << result.out;
  for (const char* colour : {"\033[3", "\033[2m", "\033[0m"})
    EXPECT_FALSE(contains(result.out, colour)) << result.out;
}

TEST_F(Shown, on_a_dumb_terminal_and_in_a_pipe_lines_are_plain) {
  const Result dumb = run(train({}), {.variables = {{"TERM", "dumb"}}, .columns = 100});
  const Result piped = run(train({}));
  for (const std::string& text : {dumb.out, piped.err}) {
    EXPECT_FALSE(contains(text, "\033"));
    EXPECT_TRUE(contains(text, "epoch 3/3")) << text;
  }
  EXPECT_FALSE(contains(piped.err, "\r"));
  EXPECT_GE(line_count(piped.err), 3);
  EXPECT_LE(line_count(piped.err), 12) << piped.err;
}

// The bar of a training is the only thing that has colours.
TEST_F(Shown, nothing_but_the_bar_has_escape_sequences) {
  const Words commands[] = {{"--help"},
                            {"train", "--bogus"},
                            {"formats", "3.14"},
                            {"explain", "--model", "lenet", "--amp", "f16"},
                            {"simulate", "--list"},
                            {"completion", "zsh"}};
  for (const Words& words : commands) {
    const Result result = run(words, {.columns = 100});
    EXPECT_NE(result.out, "") << words.front();
    EXPECT_FALSE(contains(result.out, "\033")) << words.front();
  }
}

TEST_F(Shown, colours_cannot_be_forced_where_there_is_no_bar) {
  for (const Words& words : {train({}), train({"--compare", "off,bf16", "--epochs", "1"})}) {
    const Result result = run(words, {.variables = {{"CLICOLOR_FORCE", "1"}}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_FALSE(contains(result.out + result.err, "\033"));
  }
}

TEST_F(Shown, quiet_run_prints_the_result_alone) {
  const Result result = run(train({"--quiet"}));
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, "test accuracy")) << result.out;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::progress_test
