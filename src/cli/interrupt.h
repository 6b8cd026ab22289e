// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while training: the first asks to stop after the step, the second ends the program.
#pragma once

namespace narrowgauge::cli {

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool interrupted();

}  // namespace narrowgauge::cli
