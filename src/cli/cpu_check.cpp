// SPDX-License-Identifier: Apache-2.0
// Runs before anything else and is compiled for any x86-64: all other code, even that which sets up
// global objects, may hold instructions that an old CPU does not know.
#include <unistd.h>

#include <cstring>

namespace {

void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

const char* missing_feature() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return "AVX2";
  if (!__builtin_cpu_supports("fma")) return "FMA";
  if (!__builtin_cpu_supports("f16c")) return "F16C";
  if (!__builtin_cpu_supports("bmi2")) return "BMI2";
  return nullptr;
}

// 101 is the first priority that is free for programs.
__attribute__((constructor(101))) void check_cpu() {
  const char* missing = missing_feature();
  if (!missing) return;
  say("narrowgauge: error: this CPU has no ");
  say(missing);
  say("; AVX2, FMA, F16C and BMI2 are needed (Intel since 2013, AMD since 2015)\n");
  _exit(6);
}

}  // namespace
