// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace narrowgauge::cli {
namespace {

constexpr std::array interrupts{SIGINT, SIGTERM, SIGHUP};

volatile sig_atomic_t asked = 0;

void handle(int) { asked = 1; }

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
  std::thread([] {
    for (;;) pause();
  }).detach();
  mask_interrupts(SIG_BLOCK);
}

void take_interrupts_again() { mask_interrupts(SIG_UNBLOCK); }

InterruptScope::InterruptScope() { set_handlers(handle); }
InterruptScope::~InterruptScope() { set_handlers(SIG_DFL); }

bool interrupted() { return asked != 0; }

}  // namespace narrowgauge::cli
