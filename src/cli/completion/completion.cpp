// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/common/exit_code.h"
#include "cli/common/terminal.h"
#include "cli/completion/grammar.h"
#include "cli/config/command.h"

namespace narrowgauge::cli {
namespace {

constexpr const char* examples = R"(examples:
  source <(narrowgauge completion bash)
      in ~/.bashrc: commands, flags, and the words that a flag takes
  source <(narrowgauge completion zsh)
      in ~/.zshrc, behind compinit
  narrowgauge completion fish | source
      in ~/.config/fish/config.fish)";

int run_completion(const CLI::App& program, const std::string& shell) {
  const Grammar grammar = grammar_of(program);
  print(shell == "bash"  ? bash_completion(grammar)
        : shell == "zsh" ? zsh_completion(grammar)
                         : fish_completion(grammar));
  return ExitCode::ok;
}

}  // namespace

NG_COMMAND(completion, 90) {
  CLI::App& app =
      add_command(program, "completion", "a script that lets a shell complete", examples);
  const auto shell = std::make_shared<std::optional<std::string>>();
  add_required_word(app, {"SHELL", "", "bash, zsh or fish"}, *shell, {"bash", "zsh", "fish"});
  when_chosen(app, [&program, shell, &action] {
    action = [&program, shell] { return run_completion(program, **shell); };
  });
}

}  // namespace narrowgauge::cli
