// SPDX-License-Identifier: Apache-2.0
#include "base/machine/openmp.h"

#include <omp.h>

#include <algorithm>
#include <vector>

namespace narrowgauge {

bool in_openmp_region() { return omp_in_parallel() != 0; }

int openmp_threads() {
  return std::max(1, std::min(omp_get_max_threads(), omp_get_thread_limit()));
}

int openmp_thread_limit() { return std::max(1, omp_get_thread_limit()); }

std::optional<cpu_set_t> openmp_places() {
  if (omp_get_proc_bind() == omp_proc_bind_false || omp_get_num_places() == 0) return {};
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> members(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, members.data());
    for (const int core : members)
      if (core < CPU_SETSIZE) CPU_SET(core, &cores);
  }
  return cores;
}

OneOpenMpThread::OneOpenMpThread() : previous_(omp_get_max_threads()) {
  if (previous_ != 1) omp_set_num_threads(1);
}

OneOpenMpThread::~OneOpenMpThread() {
  if (previous_ != 1) omp_set_num_threads(previous_);
}

}  // namespace narrowgauge
