// SPDX-License-Identifier: Apache-2.0
// What the program reads and writes in a process whose locale has commas in its numbers: flags,
// settings, tables, plans, answers and files are as in any other.
#include <unistd.h>

#include <sstream>

#include "cli/program.h"
#include "cli/task/start.h"
#include "narrowgauge/error.h"
#include "support/comma_locale.h"

namespace narrowgauge::testing_cli::locales_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;

// Runs a command in a child of this process, which has its locale, with files in the folder.
Result run_here(Words words, const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) {
    const bool moved = chdir(folder.c_str()) == 0 && std::freopen("out.txt", "w", stdout) &&
                       std::freopen("err.txt", "w", stderr);
    words.insert(words.begin(), "narrowgauge");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    const int code = moved ? cli::start(static_cast<int>(arguments.size()), arguments.data()) : 126;
    std::fflush(nullptr);
    _exit(code);
  }
  const int code = wait_for(child);
  return {code, read_file(folder + "/out.txt"), read_file(folder + "/err.txt")};
}

// The class is whether the width is above 0.
std::string table() {
  std::string text = "width,weight,kind\n";
  for (int i = 0; i < 120; ++i) {
    const int x = i * 37 % 101 - 50;
    text += concat(0.125 * x, ',', 1234.5 + i, ',', x > 0 ? "up" : "down", '\n');
  }
  return text;
}

// Without the ninth column, of samples a second.
std::string without_rates(const std::string& csv) {
  std::istringstream lines(csv);
  std::string kept;
  for (std::string line; std::getline(lines, line); kept += '\n') {
    std::istringstream fields(line);
    int column = 0;
    for (std::string field; std::getline(fields, field, ',');)
      if (++column != 9) kept += field + ',';
  }
  return kept;
}

// What all commands print and write.
std::string everything(const std::string& folder) {
  write_file(folder + "/points.csv", table());
  write_file(folder + "/new.csv", "width,weight\n-2.5,1250.25\n3.75,1300.5\n");
  write_file(folder + "/settings.toml", "[train]\nlr = 0.0625\nmomentum = 0.875\n");
  std::string all;
  for (const Words& words : std::vector<Words>{
           {"formats", "3.14", "-1234.5e-3", "0x1.8p+4", "+0.1", "f16:0x3c00"},
           {"formats", "3.14", "--json", "--scale", "0.1", "--format", "i8"},
           {"explain", "--model", "lenet", "--amp", "f16", "--save-plan", "plan.txt"},
           {"explain", "--model", "lenet", "--plan", "plan.txt", "--json"},
           {"train", "--config", "settings.toml", "--model", "mlp", "--data", "points.csv",
            "--epochs", "3", "--batch", "16", "--weight-decay", "0.0005", "--output", "run",
            "--quiet", "--deterministic", "--threads", "1"},
           {"predict", "run", "new.csv", "--save", "answers.csv", "--quiet"},
           {"evaluate", "run", "--json"},
           {"export", "run", "--onnx", "points.onnx"},
           {"run", "points.onnx", "--random", "2x2x1x1", "--quiet", "--output", "answers.npz"},
           {"info", "points.onnx"}}) {
    const Result result = run_here(words, folder);
    EXPECT_EQ(result.code, 0) << words[0] << ": " << result.err;
    all += words[0] + '\n' + (words[0] == "train" ? "" : result.out);  // its time
  }
  for (const char* const file :
       {"plan.txt", "answers.csv", "points.onnx", "answers.npz", "run/run.json"})
    all += concat(file, '\n', read_file(concat(folder, '/', file)));
  all += without_rates(read_file(folder + "/run/metrics.csv"));
  for (std::size_t at; (at = all.find(folder)) != std::string::npos;) all.erase(at, folder.size());
  return all;
}

TEST(locales, with_commas_change_nothing_of_what_commands_read_and_write) {
  const TemporaryFolder usual, of_streams, of_c;
  const std::string expected = everything(usual.path());
  EXPECT_NE(expected.find("0.0625"), std::string::npos);
  {
    const testing_support::CommasInStreams commas;
    EXPECT_EQ(everything(of_streams.path()), expected);
  }
  const testing_support::LocaleOfLanguage german("de_DE");
  if (!german.why_not().empty()) GTEST_SKIP() << german.why_not();
  EXPECT_EQ(everything(of_c.path()), expected);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::locales_test
