// SPDX-License-Identifier: Apache-2.0
// How long threads of this process have had a core, and how long others kept them waiting for one.
#pragma once

#include <map>

namespace narrowgauge {

// Seconds that the calling thread has had a core; time that others take does not count.
double thread_seconds();

// Watches threads of this process that are ready to run while something else has their core.
class CoreWait {
 public:
  CoreWait() { longest(); }
  // The longest that any thread has waited since the last call, in seconds; 0 where the system does
  // not say.
  double longest();

 private:
  std::map<int, double> waited_;  // of each thread, as last seen
};

}  // namespace narrowgauge
