// SPDX-License-Identifier: Apache-2.0
// What a plan is made for. Passes and offers decide by it alone, so that a plan for another machine
// can be made, read and tested on this one.
#pragma once

#include "narrowgauge/isa.h"

namespace narrowgauge {

// The machine that a plan is for.
struct NG_API Target {
  Isa isa = Isa::avx2;  // the widest instructions that kernels may use
  bool fast_math =
      true;          // f32 of f32 values may be less than ieee: three products of bf16, or int16
  bool tf32 = true;  // operands may be rounded to TF32 where that is asked for
  int threads = 1;   // of a step

  // This machine and this thread, under NARROWGAUGE_ISA, NARROWGAUGE_FAST_MATH,
  // NARROWGAUGE_TF32_OVERRIDE, NARROWGAUGE_THREADS and allow_tf32(). Throws UsageError naming the
  // variable whose value cannot be read.
  static Target machine();
  bool operator==(const Target&) const = default;
};

}  // namespace narrowgauge
