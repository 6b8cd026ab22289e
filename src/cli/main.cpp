// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include "cli/task/start.h"

int main(int argc, char** argv) {
  // A file that grows too large then gives an error instead of ending the program, and training
  // goes on when nobody reads its output.
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  return narrowgauge::cli::start(argc, argv);
}
