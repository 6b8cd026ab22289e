// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/tf32.h"

#include <atomic>

#include "base/environment.h"

namespace narrowgauge {

namespace {
std::atomic<bool> program_allows_tf32 = true;
}

void allow_tf32(bool allowed) { program_allows_tf32 = allowed; }

bool tf32_allowed() { return tf32_forbidden_by().empty(); }

std::string_view tf32_forbidden_by() {
  const std::string text = environment("TF32_OVERRIDE");
  require(text.empty() || text == "0",
          "NARROWGAUGE_TF32_OVERRIDE: other values than 0 are reserved, got \"", text, '"');
  if (!text.empty()) return "NARROWGAUGE_TF32_OVERRIDE=0";
  return program_allows_tf32 ? "" : "allow_tf32(false)";
}

bool rounds_to_tf32(Math math, const Target& target) {
  return (math == Math::tf32 || math == Math::tf32x3) && target.tf32;
}

bool rounds_operands(Math math, const Target& target) {
  return is_simulated(math) || rounds_to_tf32(math, target);
}

}  // namespace narrowgauge
