// SPDX-License-Identifier: Apache-2.0
// What a command line of the program may hold, as completion of the shells needs it, and the
// scripts that complete it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace narrowgauge::cli {

enum class Paths { none, files, folders };

struct CompletedFlag {
  std::vector<std::string> names;  // "--amp", "-a"; none: an argument without a flag
  std::string help;                // short
  bool has_value = false, repeats = false;
  bool is_list = false;            // of words with commas between them
  std::vector<std::string> words;  // of the value
  Paths paths = Paths::none;       // that may be the value too
};

struct CompletedCommand {
  std::string name, help;
  std::vector<CompletedFlag> flags;
  CompletedFlag argument;  // without a flag; of several the first
};

struct Grammar {
  std::vector<CompletedCommand> commands;
  std::vector<std::string> flags;  // without a command: "--help"
};

Grammar grammar_of(const CLI::App& program);

std::string bash_completion(const Grammar& grammar);
std::string zsh_completion(const Grammar& grammar);
std::string fish_completion(const Grammar& grammar);

// "a b c"
std::string spaced(const std::vector<std::string>& words);
// The text with `before` in front of each of the characters.
std::string escaped(const std::string& text, const char* characters, const char* before = "\\");

}  // namespace narrowgauge::cli
