// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/grammar.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

// Bash cuts words at = and : too, so that the line is cut again here, at blanks; of what it then
// puts in, it wants the part behind its own last cut alone.
constexpr const char* bash_head =
    R"(# bash completion of narrowgauge: source <(narrowgauge completion bash)
_narrowgauge() {
  local line="${COMP_LINE:0:COMP_POINT}" words=() values="" paths="" list="" flags="" known=1
  read -ra words <<< "$line"
  [[ $line == *[[:blank:]] ]] && words+=("")
  local last=$((${#words[@]} - 1))
  local current="${words[last]}" previous="${words[last - 1]}" command="${words[1]}" start=""
  if [[ $current == --*=* ]]; then
    previous="${current%%=*}"
    [[ $COMP_WORDBREAKS == *=* ]] || start="$previous="
    current="${current#*=}"
  fi
  COMPREPLY=()
  if ((last == 1)); then
    mapfile -t COMPREPLY < <(compgen -W ")";

constexpr const char* bash_middle = R"(" -- "$current")
    return
  fi
  case "$command $previous" in
)";

constexpr const char* bash_between = R"(    *) known="" ;;
  esac
  if [[ -z $known ]]; then
    case "$command" in
)";

constexpr const char* bash_tail = R"(    esac
    if [[ $current == -* ]]; then
      values="$flags" paths="" list=""
    fi
  fi
  local kept=""
  [[ -n $list && $current == *,* ]] && kept="${current%,*},"
  mapfile -t COMPREPLY < <(compgen -W "$values" -P "$kept" -- "${current#"$kept"}")
  local found=()
  [[ $paths == files ]] && mapfile -t found < <(compgen -f -- "$current")
  [[ $paths == folders ]] && mapfile -t found < <(compgen -d -- "$current")
  [[ -n $paths ]] && compopt -o filenames 2> /dev/null
  COMPREPLY+=("${found[@]}")
  [[ -n $start ]] && COMPREPLY=("${COMPREPLY[@]/#/$start}")
  if [[ $COMP_WORDBREAKS == *:* && $current == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%:*}:"}")
  fi
}
complete -F _narrowgauge narrowgauge
)";

std::string bash_value(const CompletedFlag& flag) {
  std::string text;
  if (!flag.words.empty()) text += concat(" values=\"", spaced(flag.words), '"');
  if (flag.paths != Paths::none)
    text += flag.paths == Paths::files ? " paths=files" : " paths=folders";
  if (flag.is_list) text += " list=1";
  return text;
}

}  // namespace

std::string bash_completion(const Grammar& grammar) {
  std::string names, values, commands;
  for (const CompletedCommand& command : grammar.commands) {
    names += command.name + ' ';
    std::string flags;
    for (const CompletedFlag& flag : command.flags) {
      flags += (flags.empty() ? "" : " ") + flag.names.front();
      if (!flag.has_value) continue;
      std::string patterns;
      for (const std::string& name : flag.names)
        patterns += concat(patterns.empty() ? "" : " | ", '"', command.name, ' ', name, '"');
      values += concat("    ", patterns, ')', bash_value(flag), " ;;\n");
    }
    commands += concat("      ", command.name, ") flags=\"", flags, '"',
                       bash_value(command.argument), " ;;\n");
  }
  return concat(bash_head, names, spaced(grammar.flags), bash_middle, values, bash_between,
                commands, bash_tail);
}

}  // namespace narrowgauge::cli
