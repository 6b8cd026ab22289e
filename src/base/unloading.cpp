// SPDX-License-Identifier: Apache-2.0
#include "base/unloading.h"

#include <semaphore.h>

#include <atomic>
#include <new>

extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* library);

namespace narrowgauge {

struct UnloadSteps {
  using List = std::atomic<UnloadStep*>;  // the latest first
  static constinit List usual, last;

  static void add(List& list, UnloadStep& step) {
    step.added_before_ = list.load();
    while (!list.compare_exchange_weak(step.added_before_, &step)) {
    }
  }
  static void run_all(List& list, bool program_ends) {
    while (UnloadStep* const step = list.load()) {
      list = step->added_before_;
      step->unload(program_ends);
    }
  }
};
constinit UnloadSteps::List UnloadSteps::usual = nullptr;
constinit UnloadSteps::List UnloadSteps::last = nullptr;

namespace {

constinit bool program_ends = false;

// Where the library is part of the program, or came by dlopen(), the end of the program destroys
// static objects before it comes to the functions that the library has for its own end; dlclose()
// calls these first.
struct EndOfProgram {
  ~EndOfProgram() { program_ends = true; }
};
const EndOfProgram end_of_program;

// A library that the program was started with is ended before its static objects are, as by
// dlclose(). A function that was registered since the program began runs earlier. It must not be
// the library's own, which may be unloaded by then: sem_post() of the C library leaves a sign.
constinit std::atomic<sem_t*> sign_of_end = nullptr;

bool has_sign_of_end() {
  sem_t* const sign = sign_of_end.load();
  int value = 0;
  return sign && sem_getvalue(sign, &value) == 0 && value > 0;
}

[[gnu::destructor]] void end_of_library() {
  const bool ends = program_ends || has_sign_of_end();
  UnloadSteps::run_all(UnloadSteps::usual, ends);
  UnloadSteps::run_all(UnloadSteps::last, ends);
}

}  // namespace

void at_unloading(UnloadStep& step) noexcept { UnloadSteps::add(UnloadSteps::usual, step); }

void at_the_end_of_unloading(UnloadStep& step) noexcept {
  UnloadSteps::add(UnloadSteps::last, step);
}

void watch_for_end_of_program() noexcept {
  if (sign_of_end.load(std::memory_order_relaxed)) return;
  auto* const sign = new (std::nothrow) sem_t;  // outlives the library
  if (!sign) return;
  sem_init(sign, 0, 0);
  sem_t* none = nullptr;
  if (sign_of_end.compare_exchange_strong(none, sign))
    __cxa_atexit(reinterpret_cast<void (*)(void*)>(reinterpret_cast<void (*)()>(&sem_post)), sign,
                 nullptr);
  else
    delete sign;
}

}  // namespace narrowgauge
