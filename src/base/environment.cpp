// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <cstdlib>

#include "narrowgauge/error.h"

namespace narrowgauge {

std::string environment(std::string_view name) {
  const char* value = std::getenv(concat("NARROWGAUGE_", name).c_str());
  return value ? value : "";
}

}  // namespace narrowgauge
