// SPDX-License-Identifier: Apache-2.0
// What makes a source a subcommand: the mark NG_COMMAND, which the build collects into the table of
// commands.
//
//   NG_COMMAND(doctor, 50) {
//     CLI::App& app = add_command(program, "doctor", "what this machine can do", examples);
//     when_chosen(app, [&action] { action = [] { return run_doctor(); }; });
//   }
#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include "cli/config/config.h"
#include "cli/flags/flags.h"

namespace narrowgauge::cli {

// What a command does once its flags are read.
struct Action {
  std::function<int()> run;                // returns the exit code
  std::function<SettledFlags()> settle{};  // for --dump-config, of commands that have it

  Action() = default;
  template <std::invocable Run>
  Action(Run does, std::function<SettledFlags()> settles = {})
      : run(std::move(does)), settle(std::move(settles)) {}
};

// Adds a command with --config.
CLI::App& add_command(CLI::App& program, const char* name, const char* text, const char* examples);
void when_chosen(CLI::App& command, std::function<void()> then);

// Functions that each add one command to the program, in the order of the help. The action that the
// chosen command sets is what the program then does.
using AddCommand = void (*)(CLI::App& program, Action& action);
std::vector<AddCommand> commands();

}  // namespace narrowgauge::cli

// Stands in namespace narrowgauge::cli, at the start of a line, once per file. The help lists
// commands by `place`, a number.
#define NG_COMMAND(name, place)                           \
  namespace command_table {                               \
  void name##_command(CLI::App& program, Action& action); \
  }                                                       \
  void command_table::name##_command(CLI::App& program, Action& action)
