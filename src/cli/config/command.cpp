// SPDX-License-Identifier: Apache-2.0
#include "cli/config/command.h"

#include <CLI/CLI.hpp>

namespace narrowgauge::cli {

CLI::App& add_command(CLI::App& program, const char* name, const char* text, const char* examples) {
  CLI::App* command = program.add_subcommand(name, text);
  command->footer(examples);
  add_config(*command);
  return *command;
}

void when_chosen(CLI::App& command, std::function<void()> then) {
  command.final_callback(std::move(then));
}

}  // namespace narrowgauge::cli
