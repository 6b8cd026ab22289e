// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/grammar.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* zsh_head = R"(#compdef narrowgauge
# zsh completion of narrowgauge: source <(narrowgauge completion zsh), or a file
# _narrowgauge in a folder of $fpath
_narrowgauge() {
  if (( CURRENT == 2 )); then
    local -a commands=(
)";

constexpr const char* zsh_middle = R"(    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
)";

constexpr const char* zsh_tail = R"(  esac
}
if [[ $funcstack[1] == _narrowgauge ]]; then
  _narrowgauge "$@"
else
  compdef _narrowgauge narrowgauge
fi
)";

std::string zsh_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

// What completes a value, as the third part of a specification for _arguments, which gives a
// function its options, unless a blank stands before its name.
std::string action_of(const CompletedFlag& flag) {
  const std::string words = escaped(spaced(flag.words), ":");
  if (!flag.words.empty() && flag.is_list) return concat("_sequence compadd - ", words);
  if (!flag.words.empty() && flag.paths != Paths::none)
    return concat(" _alternative \"words\\:word\\:(", words, ")\" \"files\\:file\\:_files\"");
  if (!flag.words.empty()) return concat('(', words, ')');
  if (flag.paths == Paths::folders) return "_files -/";
  return flag.paths == Paths::files ? "_files" : " ";
}

std::string value_of(const CompletedFlag& flag) {
  return flag.has_value ? concat(":value:", action_of(flag)) : "";
}

std::string flag_specification(const CompletedFlag& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    const std::string others = flag.repeats ? "*" : concat('(', spaced(flag.names), ')');
    const bool joins = flag.has_value && name.starts_with("--");
    text += concat(" \\\n        ",
                   zsh_quoted(concat(others, name, joins ? "=" : "", '[',
                                     escaped(flag.help, "[]\\"), ']', value_of(flag))));
  }
  return text;
}

}  // namespace

std::string zsh_completion(const Grammar& grammar) {
  std::string names, commands;
  for (const CompletedCommand& command : grammar.commands) {
    names += concat("      ", zsh_quoted(concat(command.name, ':', command.help)), '\n');
    commands += concat("    ", command.name, ")\n      _arguments");
    for (const CompletedFlag& flag : command.flags) commands += flag_specification(flag);
    if (command.argument.has_value)
      commands += concat(" \\\n        ", zsh_quoted(concat('*', value_of(command.argument))));
    commands += "\n      ;;\n";
  }
  return concat(zsh_head, names, zsh_middle, commands, zsh_tail);
}

}  // namespace narrowgauge::cli
