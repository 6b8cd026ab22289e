// SPDX-License-Identifier: Apache-2.0
// Runs the built program as a user would: in a pipe or on a terminal, with what it printed and how
// it ended.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/files.h"

namespace narrowgauge::testing_cli {

using Words = std::vector<std::string>;

struct Result {
  int code = -1;  // 128 + the signal where one ended it
  std::string out, err;
};

// What differs in the program's surroundings.
struct Surroundings {
  std::vector<std::pair<std::string, std::string>> variables{};  // "" takes one away
  long file_limit = 0;             // bytes that a file may have; 0: any
  std::int64_t address_space = 0;  // bytes; 0: any
  int columns = 0;                 // > 0: stderr and stdout are a terminal of this width
  std::string stdout_to{};         // instead of being read
  std::string interrupt_at{};      // as soon as stderr or the terminal has this, comes
  int interrupt_by = SIGINT;
  int interrupt_again_by = 0;    // as soon as the program has taken the first; 0: nothing
  bool ignores_hangups = false;  // as under nohup
  bool refuse_threads = false;   // the system gives it none but its first
};

std::string program_path();
bool has_terminals();

// Runs the program. On a terminal all that is printed is in `out`.
Result run(const Words& words, const Surroundings& surroundings = {});

// The parts of run(): what a child that was forked becomes, and how it ended.
[[noreturn]] void become_program(const Words& words, const Surroundings& surroundings);
int wait_for(pid_t child);

int line_count(const std::string& text);
std::string last_line(const std::string& text);
bool contains(const std::string& text, const std::string& part);

}  // namespace narrowgauge::testing_cli
