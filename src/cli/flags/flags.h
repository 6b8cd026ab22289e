// SPDX-License-Identifier: Apache-2.0
// Flags of a command, each with its check: a value that does not fit is refused in our own words,
// "--epochs: expected a whole number from 1 on, got "abc"".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace narrowgauge::cli {

// The names of a flag, of its value in the help, and its help text.
struct Flag {
  std::string names;  // "--epochs", "RUN" for a positional argument
  std::string value;  // "N"
  std::string text;
  std::vector<std::string> words{};  // that completion offers, where others are right too
};

// "--epochs" of "--epochs,-e": by which messages call it.
std::string first_name(const Flag& flag);

// What a flag takes: a text or a number, a list such as "a,b,c", one or more texts, or nothing.
enum class Takes { text, number, list, texts, nothing };

struct FlagFacts {
  Takes takes = Takes::nothing;
  std::vector<std::string> words{};  // those there are, or the usual ones; none: any
};
// The facts of an option that one of the functions below added; of others such as --help the
// default.
FlagFacts facts_of(const CLI::Option& option);

void add_text(CLI::App& app, const Flag& flag, std::optional<std::string>& target);
void add_text(CLI::App& app, const Flag& flag, std::function<void(const std::string&)> take);
void add_required(CLI::App& app, const Flag& flag, std::optional<std::string>& target);
void add_word(CLI::App& app, const Flag& flag, std::optional<std::string>& target,
              std::vector<std::string> words);
void add_required_word(CLI::App& app, const Flag& flag, std::optional<std::string>& target,
                       std::vector<std::string> words);
void add_word(CLI::App& app, const Flag& flag, std::function<void(const std::string&)> take,
              std::vector<std::string> words);
void add_whole(CLI::App& app, const Flag& flag, std::optional<std::int64_t>& target,
               std::int64_t least);
void add_whole(CLI::App& app, const Flag& flag, std::function<void(std::int64_t)> take,
               std::int64_t least);
void add_real(CLI::App& app, const Flag& flag, std::optional<double>& target, double least = 0);
void add_real(CLI::App& app, const Flag& flag, std::function<void(double)> take, double least = 0);
using TakeTexts = std::function<void(const std::vector<std::string>&)>;

// Adds a flag that may be given several times.
void add_texts(CLI::App& app, const Flag& flag, std::vector<std::string>& target);
void add_texts(CLI::App& app, const Flag& flag, TakeTexts take);
// Adds a place for all arguments that are not flags.
void add_arguments(CLI::App& app, const Flag& flag, std::vector<std::string>& target);
// Adds a list such as "a,b,c" without repetitions.
void add_list(CLI::App& app, const Flag& flag, std::vector<std::string>& target);
void add_list(CLI::App& app, const Flag& flag, TakeTexts take);
// Adds a list without repetitions, each item one of the words.
void add_word_list(CLI::App& app, const Flag& flag, std::vector<std::string>& target,
                   std::vector<std::string> words);
void add_switch(CLI::App& app, const Flag& flag, bool& target);
void add_switch(CLI::App& app, const Flag& flag, std::function<void()> take);
// Tells whether it is on, as in `--quiet=false`.
void add_choice(CLI::App& app, const Flag& flag, std::function<void(bool)> take);

}  // namespace narrowgauge::cli
