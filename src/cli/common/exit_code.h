// SPDX-License-Identifier: Apache-2.0
// What the program's exit codes mean.
#pragma once

#include <exception>

namespace narrowgauge::cli {

struct ExitCode {
  static constexpr int ok = 0;
  static constexpr int internal = 1;  // a bug of ours
  static constexpr int usage = 2;
  static constexpr int model = 3;  // model, plan or op that is not supported
  static constexpr int data = 4;   // data, checkpoint or another file
  static constexpr int diverged = 5;
  static constexpr int device = 6;  // a device, or its memory
  static constexpr int check = 7;   // a comparison that was asked for did not hold
  // One that a signal stopped has interrupted_code() of interrupt.h.
};

// Prints the error in one line on stderr and returns the code of its cause.
int report(const std::exception& error);

}  // namespace narrowgauge::cli
