// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/error.h"

#include <charconv>

#include "base/text/printable.h"
#include "narrowgauge/held.h"

namespace narrowgauge {

void append_text(std::string& out, double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, printable(value)).ptr;
  out.append(buffer, end);
}

void refuse_moved_from(const char* what) {
  throw UsageError(concat(what, ": was moved from, and what it held is with the ", what,
                          " that it was moved to"));
}

}  // namespace narrowgauge
