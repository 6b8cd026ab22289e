// SPDX-License-Identifier: Apache-2.0
// What shells make of the scripts of `narrowgauge completion`.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "cli/program.h"

namespace narrowgauge::testing_cli::completion_test {
namespace {

using testing_files::TemporaryFolder;
using testing_files::write_file;

std::string script_for(const std::string& shell) {
  const Result result = run({"completion", shell});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

// What a shell prints, and how it ends.
Result of_shell(const std::string& command) {
  Result result;
  std::FILE* output = popen((command + " 2>&1").c_str(), "r");
  if (!output) return result;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, output)) > 0;)
    result.out.append(buffer, count);
  result.code = WEXITSTATUS(pclose(output));
  return result;
}

bool has_shell(const std::string& shell) { return of_shell("command -v " + shell).code == 0; }

class Bash : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_shell("bash")) GTEST_SKIP() << "no bash here";
    write_file(folder_ / "narrowgauge.bash", script_for("bash"));
    std::filesystem::create_directories(folder_ / "runs/my run");
    write_file(folder_ / "runs/notes.txt", "");
  }
  // What bash would offer at the end of a line.
  Words offers(const std::string& line) const {
    write_file(folder_ / "ask.bash", R"(set -u
cd ")" + (folder_ / "") + R"("
source ./narrowgauge.bash
complete -p narrowgauge | grep -q -- '-F _narrowgauge narrowgauge' || echo "is not registered"
COMP_LINE=')" + line + R"('
COMP_POINT=${#COMP_LINE}
_narrowgauge narrowgauge
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
)");
    const Result result = of_shell("bash --norc --noprofile " + (folder_ / "ask.bash"));
    EXPECT_EQ(result.code, 0) << result.out;
    Words words;
    std::istringstream lines(result.out);
    for (std::string word; std::getline(lines, word);) words.push_back(word);
    return words;
  }
  bool offers(const std::string& line, const std::string& word) const {
    const Words words = offers(line);
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  TemporaryFolder folder_;
};

TEST_F(Bash, completes_commands) {
  EXPECT_EQ(offers("narrowgauge tr"), Words{"train"});
  EXPECT_EQ(offers("narrowgauge ex"), (Words{"export", "explain"}));
  EXPECT_EQ(offers("narrowgauge --v"), Words{"--version"});
  EXPECT_EQ(offers("narrowgauge completion "), (Words{"bash", "zsh", "fish"}));
}

TEST_F(Bash, completes_every_flag_that_the_help_names) {
  const std::string help = run({"train", "--help"}).out;
  const Words flags = offers("narrowgauge train --");
  EXPECT_GT(flags.size(), 60u);
  for (const std::string& flag : flags) EXPECT_TRUE(contains(help, flag)) << flag;
  EXPECT_EQ(offers("narrowgauge train --model lenet --epo"), Words{"--epochs"});
  EXPECT_TRUE(offers("narrowgauge evaluate --").size() < flags.size());
}

TEST_F(Bash, completes_the_words_of_a_flag) {
  EXPECT_EQ(offers("narrowgauge train --amp "), (Words{"off", "f16", "bf16", "auto"}));
  EXPECT_EQ(offers("narrowgauge train --epochs 3 --amp b"), Words{"bf16"});
  EXPECT_EQ(offers("narrowgauge train -m resnet1"), Words{"resnet18"});
  EXPECT_EQ(offers("narrowgauge train --optimizer ad"), (Words{"adagrad", "adam", "adamw"}));
  EXPECT_EQ(offers("narrowgauge train --schedule cosine_"), Words{"cosine_restarts"});
  EXPECT_EQ(offers("narrowgauge train --data gl"), Words{"glyphs"});
  EXPECT_EQ(offers("narrowgauge train --loss dic"), Words{"dice"});
  EXPECT_EQ(offers("narrowgauge simulate --unit h10"), (Words{"h100", "h100-mma"}));
  EXPECT_EQ(offers("narrowgauge train --epochs "), Words{});
  EXPECT_EQ(offers("narrowgauge train --output nothing_"), Words{});
}

// Bash has cut the word at = and : already, and puts in what is behind that.
TEST_F(Bash, completes_behind_an_equals_sign_and_a_colon) {
  EXPECT_EQ(offers("narrowgauge train --amp=b"), Words{"bf16"});
  EXPECT_EQ(offers("narrowgauge train --math sim:a1"), Words{"a100"});
  EXPECT_EQ(offers("narrowgauge train --math=sim:a1"), Words{"a100"});
}

TEST_F(Bash, completes_each_word_of_a_list) {
  EXPECT_EQ(offers("narrowgauge train --compare ieee,b"), Words{"ieee,bf16"});
  EXPECT_EQ(offers("narrowgauge bench --model lenet,resnet2"), Words{"lenet,resnet20"});
  EXPECT_TRUE(offers("narrowgauge evaluate runs --metrics f1,", "f1,top5"));
}

TEST_F(Bash, completes_files_and_folders) {
  EXPECT_EQ(offers("narrowgauge train --config runs/n"), Words{"runs/notes.txt"});
  EXPECT_EQ(offers("narrowgauge evaluate runs/"), Words{"runs/my run"});
  EXPECT_EQ(offers("narrowgauge train --output runs/"), Words{"runs/my run"});
  EXPECT_EQ(offers("narrowgauge run runs/n"), Words{"runs/notes.txt"});
  EXPECT_TRUE(offers("narrowgauge train --data ru", "runs"));
}

TEST(completion, of_a_shell_that_is_unknown_is_refused) {
  const Result result = run({"completion", "tcsh"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(line_count(result.err), 1);
  EXPECT_TRUE(contains(result.err, "expected bash, zsh or fish, got \"tcsh\"")) << result.err;
  EXPECT_EQ(run({"completion"}).code, 2);
}

TEST(completion, scripts_are_right_to_their_shells) {
  TemporaryFolder folder;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    write_file(folder / shell, script_for(shell));
    if (!has_shell(shell)) continue;
    const Result result = of_shell(std::string(shell) + " -n " + (folder / shell));
    EXPECT_EQ(result.code, 0) << shell << ": " << result.out;
    EXPECT_EQ(result.out, "") << shell;
  }
}

TEST(completion, all_shells_know_the_same_words) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = script_for(shell);
    for (const char* part : {"adamw", "cosine_restarts", "resnet20", "weight-decay", "stochastic",
                             "glyphs", "question-answering", "completion"})
      EXPECT_TRUE(contains(script, part)) << shell << " lacks " << part;
  }
}

TEST(completion, fish_completes) {
  if (!has_shell("fish")) GTEST_SKIP() << "no fish here";
  TemporaryFolder folder;
  write_file(folder / "narrowgauge.fish", script_for("fish"));
  const auto offers = [&](const std::string& line) {
    return of_shell("HOME=" + (folder / "") + " XDG_CONFIG_HOME=" + (folder / "") +
                    " fish -c 'source " + (folder / "narrowgauge.fish") + "; complete -C \"" +
                    line + "\"'")
        .out;
  };
  EXPECT_TRUE(offers("narrowgauge train --amp b").starts_with("bf16\t"));
  EXPECT_TRUE(contains(offers("narrowgauge train --epo"), "--epochs"));
  EXPECT_TRUE(contains(offers("narrowgauge train --compare off,b"), "off,bf16"));
  EXPECT_TRUE(offers("narrowgauge tr").starts_with("train"));
}

}  // namespace
}  // namespace narrowgauge::testing_cli::completion_test
