// SPDX-License-Identifier: Apache-2.0
#include "cli/common/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <system_error>
#include <thread>

#include "base/log.h"

namespace narrowgauge::cli {
namespace {

constexpr std::array interrupts{SIGINT, SIGTERM, SIGHUP};

// A signal handler may write to an atomic that needs no lock.
std::atomic<int> asked = 0;  // the signal; 0: none yet
static_assert(std::atomic<int>::is_always_lock_free);
bool apart = false;

// The first signal is noted; a second, also another one, does what it does by default.
void handle(int number) {
  int none = 0;
  if (!asked.compare_exchange_strong(none, number)) raise(number);
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  for (const int number : interrupts) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

void mask_interrupts(int how) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : interrupts) sigaddset(&set, number);
  pthread_sigmask(how, &set, nullptr);
}

}  // namespace

void take_interrupts_apart() {
  try {
    std::thread([] {
      for (;;) pause();
    }).detach();
  } catch (const std::system_error& error) {
    log(LogLevel::warning, concat("interrupts: no thread that takes them can be started (",
                                  error.code().message(), "): Ctrl-C ends the program at once"));
    return;
  }
  mask_interrupts(SIG_BLOCK);
  apart = true;
}

void take_interrupts_again() { mask_interrupts(SIG_UNBLOCK); }

InterruptScope::InterruptScope() {
  if (apart) set_handlers(handle);
}
InterruptScope::~InterruptScope() {
  if (apart) set_handlers(SIG_DFL);
}

bool interrupted() { return asked != 0; }

int interrupted_code() {
  constexpr int by_signal = 128;
  return by_signal + (asked != 0 ? asked.load() : SIGINT);
}

}  // namespace narrowgauge::cli
