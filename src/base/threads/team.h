// SPDX-License-Identifier: Apache-2.0
// The team behind parallel_for: one set of workers for the whole process, started on first use,
// joined when the library is unloaded, and started again in a child of fork().
#pragma once

#include "base/threads/parallel.h"

namespace narrowgauge {

constexpr int most_threads = 4096;

class Job;

// The state of the calling thread as a host thread or worker.
struct HostThread {
  int threads = 0;       // wanted; 0 until it is known
  bool in_team = false;  // inside a piece
  bool is_worker = false;
  Job* job = nullptr;  // that it has opened
};
HostThread& host_thread();

// Calls piece(i) once for each i in [0, pieces), in the caller and in up to threads - 1 workers. It
// must not throw. Workers see the caller's rounding and flushing modes. The caller waits for
// workers that are inside a piece, not for those that have yet to come.
void run_team(std::int64_t pieces, int threads, FunctionRef<void(std::int64_t piece)> piece);

}  // namespace narrowgauge
