// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/grammar.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>

#include "cli/flags/flags.h"

namespace narrowgauge::cli {
namespace {

// The paths that an option takes, by the name that the help gives a value.
Paths paths_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string value = type.empty() ? option.get_name(true) : type;
  if (value == "DIR" || value == "RUN") return Paths::folders;
  constexpr std::array<std::string_view, 3> names{"D", "MODEL", "SOURCE"};  // D: of a data set
  const bool file =
      value.find("FILE") != std::string::npos || std::ranges::find(names, value) != names.end();
  return file ? Paths::files : Paths::none;
}

// The first words of a help text.
std::string short_help(const std::string& text) {
  constexpr std::size_t most = 60;
  const std::string first = text.substr(0, text.find_first_of(";\n"));
  if (first.size() <= most) return first;
  return first.substr(0, first.rfind(' ', most)) + " ...";
}

CompletedFlag flag_of(const CLI::Option& option) {
  const FlagFacts facts = facts_of(option);
  CompletedFlag flag;
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back('-' + name);
  flag.help = short_help(option.get_description());
  flag.has_value = facts.takes != Takes::nothing;
  flag.repeats = facts.takes == Takes::texts;
  flag.is_list = facts.takes == Takes::list;
  flag.words = facts.words;
  if (flag.has_value && facts.takes != Takes::number) flag.paths = paths_of(option);
  return flag;
}

CompletedCommand command_of(const CLI::App& app) {
  CompletedCommand command{app.get_name(), short_help(app.get_description()), {}, {}};
  bool has_argument = false;
  for (const CLI::Option* option : app.get_options({})) {
    CompletedFlag flag = flag_of(*option);
    if (!flag.names.empty())
      command.flags.push_back(std::move(flag));
    else if (!std::exchange(has_argument, true))
      command.argument = std::move(flag);
  }
  return command;
}

}  // namespace

Grammar grammar_of(const CLI::App& program) {
  Grammar grammar;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    grammar.commands.push_back(command_of(*command));
  for (const CLI::Option* option : program.get_options({}))
    for (const std::string& name : flag_of(*option).names) grammar.flags.push_back(name);
  return grammar;
}

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string escaped(const std::string& text, const char* characters, const char* before) {
  std::string out;
  for (const char c : text) {
    if (std::strchr(characters, c)) out += before;
    out += c;
  }
  return out;
}

}  // namespace narrowgauge::cli
