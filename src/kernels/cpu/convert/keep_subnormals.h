// SPDX-License-Identifier: Apache-2.0
// Keeps subnormals inside a run, which otherwise flushes them: a scale of 2^-127 must not become
// zero.
#pragma once

#include <xmmintrin.h>

namespace narrowgauge::cpu {

class KeepSubnormals {
 public:
  KeepSubnormals() : saved_(_mm_getcsr()) {
    constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
    _mm_setcsr(saved_ & ~(flush_to_zero | denormals_are_zero));
  }
  ~KeepSubnormals() { _mm_setcsr(saved_); }
  KeepSubnormals(const KeepSubnormals&) = delete;
  KeepSubnormals& operator=(const KeepSubnormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace narrowgauge::cpu
