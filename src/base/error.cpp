// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/error.h"

#include <charconv>

#include "base/printable.h"

namespace narrowgauge {

void append_text(std::string& out, double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, printable(value)).ptr;
  out.append(buffer, end);
}

}  // namespace narrowgauge
