// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while training: the first asks to stop after the step, the second ends the program.
#pragma once

namespace narrowgauge::cli {

// From now on a thread of its own takes the signals that ask to stop, and no other sees them: a
// handler that begins within one of oneDNN's f32 products before 3.11.2 writes to the heap, which
// their stack pointer points to (github.com/uxlfoundation/oneDNN/issues/4845). To be called before
// other threads begin. Where the system gives no thread, signals keep what they do by default.
void take_interrupts_apart();
// For a child, between fork and exec, which does not have that thread.
void take_interrupts_again();

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool interrupted();

}  // namespace narrowgauge::cli
