// SPDX-License-Identifier: Apache-2.0
#include "base/unloading.h"

#include <atomic>

namespace narrowgauge {

struct UnloadSteps {
  static constinit std::atomic<UnloadStep*> latest;

  static void add(UnloadStep& step) {
    step.added_before_ = latest.load();
    while (!latest.compare_exchange_weak(step.added_before_, &step)) {
    }
  }
  static void run_all(bool program_ends) {
    while (UnloadStep* const step = latest.load()) {
      latest = step->added_before_;
      step->unload(program_ends);
    }
  }
};
constinit std::atomic<UnloadStep*> UnloadSteps::latest = nullptr;

namespace {

constinit bool program_ends = false;

// The end of the program destroys static objects before it comes to the functions that the library
// has for its own end; dlclose() calls these first.
struct EndOfProgram {
  ~EndOfProgram() { program_ends = true; }
};
const EndOfProgram end_of_program;

[[gnu::destructor]] void end_of_library() { UnloadSteps::run_all(program_ends); }

}  // namespace

void at_unloading(UnloadStep& step) noexcept { UnloadSteps::add(step); }

}  // namespace narrowgauge
