// SPDX-License-Identifier: Apache-2.0
// Errors of C libraries whose functions must not return once they called for help: they jump.
#pragma once

#include <setjmp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "narrowgauge/error.h"

namespace narrowgauge {

class CErrors {
 public:
  // Runs calls of the library, and throws DataError where one of them failed, std::bad_alloc where
  // that was for lack of memory. The jump skips destructors: nothing that has one may live inside
  // the step.
  template <class Step>
  void run(const Step& step) {
    static_assert(std::is_trivially_destructible_v<Step>);
    if (setjmp(place_) != 0) {
      if (lacks_memory_) throw std::bad_alloc();
      throw DataError(message_);
    }
    step();
  }
  // Says that what fails from here on does so for lack of memory: for the library's callbacks.
  void note_lack_of_memory() { lacks_memory_ = true; }
  // Ends the step with a message: for the library's callbacks, inside of run() alone.
  [[noreturn]] void fail(const char* message) {
    const std::size_t length = std::min(std::strlen(message), sizeof message_ - 1);
    std::memcpy(message_, message, length);
    message_[length] = '\0';
    longjmp(place_, 1);
  }

 private:
  jmp_buf place_{};
  char message_[256]{};
  bool lacks_memory_ = false;
};

}  // namespace narrowgauge
