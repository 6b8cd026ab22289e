// SPDX-License-Identifier: Apache-2.0
#include "base/machine/floating_environment.h"

#include <immintrin.h>

namespace narrowgauge {

// The C library's default says nothing certain about flushing, so MXCSR is written whole.
FloatingEnvironment::FloatingEnvironment(Subnormals subnormals) {
  constexpr unsigned all_masked = 0x1f80, flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
  const bool flush = subnormals == Subnormals::flush;
  _mm_setcsr(flush ? all_masked | flush_to_zero | denormals_are_zero : all_masked);
}

FloatingEnvironment::~FloatingEnvironment() { std::fesetenv(&callers_); }

}  // namespace narrowgauge
