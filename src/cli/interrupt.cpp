// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace narrowgauge::cli {
namespace {

volatile sig_atomic_t asked = 0;

void handle(int) { asked = 1; }

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

}  // namespace

InterruptScope::InterruptScope() { set_handlers(handle); }
InterruptScope::~InterruptScope() { set_handlers(SIG_DFL); }

bool interrupted() { return asked != 0; }

}  // namespace narrowgauge::cli
