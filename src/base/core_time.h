// SPDX-License-Identifier: Apache-2.0
// How long threads of this process have had a core, and how long others kept them from one.
#pragma once

#include <map>

namespace narrowgauge {

// Seconds that the calling thread has had a core: others on the machine cost nothing here.
double thread_seconds();

// Threads of this process that were ready to run while something else had their core.
class CoreWait {
 public:
  CoreWait() { longest(); }
  // Seconds that the thread which waited longest has waited since the last call; 0 where the system
  // does not say.
  double longest();

 private:
  std::map<int, double> waited_;  // of each thread, as last seen
};

}  // namespace narrowgauge
