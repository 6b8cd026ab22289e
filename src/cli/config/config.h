// SPDX-License-Identifier: Apache-2.0
// Flags of a command from a file, and the settings in effect as such a file.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace narrowgauge::cli {

// Adds --config. It must be the first flag of a command: CLI11 lets flags take their values in the
// order in which they were added, and all others can have theirs from the file.
void add_config(CLI::App& command);
// Adds --dump-config, for commands whose action can settle their flags (command.h).
void add_dump_config(CLI::App& command);
bool wants_config(const CLI::App& command);

// How files name a flag: "epochs" for --epochs, "run" for the argument RUN.
std::string config_key(const CLI::Option& option);

// Words of flags that were not given, by key; those of a switch are {"true"} or {"false"}.
using SettledFlags = std::map<std::string, std::vector<std::string>>;

// A file that --config reads, with the flags that were given and those that are settled.
std::string config_of(const CLI::App& command, const SettledFlags& settled);

}  // namespace narrowgauge::cli
