// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and SIGHUP while training: the first stops after the step, the second ends the
// program. One that was ignored when the program began, as under nohup, stays ignored.
#pragma once

namespace narrowgauge::cli {

// From now on a thread of its own takes the signals that ask to stop, and no other thread sees
// them: a handler that begins inside one of oneDNN's f32 products before 3.11.2 writes to the heap,
// which their stack pointer points to (github.com/uxlfoundation/oneDNN/issues/4845). Call it before
// other threads begin. If the system gives no thread, signals keep their default actions.
void take_interrupts_apart();
// Takes the signals back in a child, between fork and exec, which does not have that thread.
void take_interrupts_again();

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool interrupted();
// The exit code of a program that such a signal stopped: 130 by Ctrl-C, 143 by SIGTERM, 129 by
// SIGHUP.
int interrupted_code();

}  // namespace narrowgauge::cli
