// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/target.h"

#include "base/environment.h"
#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "narrowgauge/error.h"
#include "narrowgauge/tf32.h"

namespace narrowgauge {
namespace {

bool is_fast_math() {
  const std::string text = environment("FAST_MATH");
  require(text.empty() || text == "0" || text == "1",
          "NARROWGAUGE_FAST_MATH: expected 0 or 1, got \"", text, '"');
  return text != "0";
}

}  // namespace

Target Target::machine() {
  return {.isa = narrowgauge::isa(),
          .fast_math = is_fast_math(),
          .tf32 = tf32_allowed(),
          .threads = thread_count()};
}

}  // namespace narrowgauge
