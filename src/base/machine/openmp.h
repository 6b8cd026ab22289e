// SPDX-License-Identifier: Apache-2.0
// OpenMP: its settings, which say how many threads a program wants, and a way to keep oneDNN, which
// uses it, in the calling thread.
#pragma once

#include <sched.h>

#include <optional>

namespace narrowgauge {

bool in_openmp_region();  // in a parallel region of the host program

// The threads that OMP_NUM_THREADS, omp_set_num_threads() and OMP_THREAD_LIMIT allow; at least 1.
int openmp_threads();
int openmp_thread_limit();  // OMP_THREAD_LIMIT, or a number that nobody reaches

// The cores of all places where OpenMP binds threads (OMP_PROC_BIND, OMP_PLACES). When OpenMP is
// loaded it binds the first thread to one of them. Empty if it does not bind.
std::optional<cpu_set_t> openmp_places();

// Gives one thread to parallel regions that the calling thread begins.
class OneOpenMpThread {
 public:
  OneOpenMpThread();
  ~OneOpenMpThread();
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int previous_;
};

}  // namespace narrowgauge
