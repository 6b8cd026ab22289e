// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/grammar.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

std::string fish_quoted(const std::string& text) {
  return concat('\'', escaped(text, "'\\"), '\'');
}

std::string fish_value(const CompletedFlag& flag) {
  const std::string words =
      flag.is_list ? concat("(__fish_append , ", spaced(flag.words), ')') : spaced(flag.words);
  std::string text;
  if (flag.paths == Paths::folders) return " -x -a '(__fish_complete_directories)'";
  text += flag.paths == Paths::files ? " -r -F" : " -x";
  if (!flag.words.empty()) text += " -a " + fish_quoted(words);
  return text;
}

std::string fish_name(const CompletedFlag& flag) {
  std::string text;
  for (const std::string& name : flag.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return text;
}

// An argument without a flag is no value of one, to fish: neither -x nor -r.
std::string argument_text(const CompletedFlag& argument) {
  if (!argument.words.empty()) return " -a " + fish_quoted(spaced(argument.words));
  if (argument.paths == Paths::none) return "";
  return argument.paths == Paths::files ? " -F" : " -a '(__fish_complete_directories)'";
}

}  // namespace

std::string fish_completion(const Grammar& grammar) {
  std::string text =
      "# fish completion of narrowgauge: narrowgauge completion fish | source\n"
      "complete -c narrowgauge -e\n"
      "complete -c narrowgauge -f\n";
  for (const CompletedCommand& command : grammar.commands) {
    text += concat("complete -c narrowgauge -n __fish_use_subcommand -a ", command.name, " -d ",
                   fish_quoted(command.help), '\n');
    const std::string start =
        concat("complete -c narrowgauge -n '__fish_seen_subcommand_from ", command.name, '\'');
    for (const CompletedFlag& flag : command.flags)
      text += concat(start, fish_name(flag), flag.has_value ? fish_value(flag) : "", " -d ",
                     fish_quoted(flag.help), '\n');
    const std::string argument = argument_text(command.argument);
    if (!argument.empty()) text += concat(start, argument, '\n');
  }
  return text;
}

}  // namespace narrowgauge::cli
