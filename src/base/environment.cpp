// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <cstdlib>

#include "narrowgauge/error.h"

namespace narrowgauge {

std::string environment(std::string_view name) {
  const char* value = std::getenv(concat("NARROWGAUGE_", name).c_str());
  return value ? value : "";
}

bool environment_switch(std::string_view name, bool otherwise) {
  const std::string value = environment(name);
  if (value.empty()) return otherwise;
  for (const char* yes : {"1", "on", "true", "yes"})
    if (value == yes) return true;
  for (const char* no : {"0", "off", "false", "no"})
    if (value == no) return false;
  throw UsageError(concat("NARROWGAUGE_", name, ": expected on or off, got \"", value, '"'));
}

}  // namespace narrowgauge
