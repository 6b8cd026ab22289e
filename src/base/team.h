// SPDX-License-Identifier: Apache-2.0
// The pool behind parallel_for: runs one function in every thread of a team. OpenMP, or plain
// std::threads where the thread sanitizer has to see every synchronization.
#pragma once

#include "base/parallel.h"

namespace narrowgauge {

// The calling host thread's part in threading.
struct HostThread {
  int threads = 0;       // wanted; 0 until it is known
  int flushing = 0;      // threads under the outermost FlushDenormalsScope; 0 outside one
  bool in_team = false;  // inside a body of run_team
};
HostThread& host_thread();

// True where a team must not be started: inside a body, or in a parallel region of the host.
bool is_nested();

// Threads that a library's own OpenMP regions get in the calling host thread.
int library_threads();
void set_library_threads(int threads);

// function(i) once in each of at most `threads` threads, i = 0 being the caller. The system may
// give fewer. The function must not throw.
void run_team(int threads, FunctionRef<void(int thread)> function);

}  // namespace narrowgauge
