// SPDX-License-Identifier: Apache-2.0
// Another program, used line by line through its standard input and output.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace narrowgauge::cli {

class Subprocess {
 public:
  static constexpr int cannot_start = 127;

  // `words` begin with the program, which is looked up in PATH. Its stderr is ours. A program that
  // cannot be started ends with cannot_start, as a shell's does.
  explicit Subprocess(std::vector<std::string> words);
  ~Subprocess();  // closes its input and waits until it has ended
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  void write_line(const std::string& line);  // lost where nobody reads
  std::optional<std::string> read_line();    // nothing once the program has closed its output
  int wait();                                // its exit code, 128 + the signal that ended it

 private:
  pid_t child_ = -1;
  std::FILE* input_ = nullptr;   // of the program
  std::FILE* output_ = nullptr;  // of the program
  int code_ = 0;
};

}  // namespace narrowgauge::cli
