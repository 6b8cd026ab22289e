// SPDX-License-Identifier: Apache-2.0
// The choice among the kernels that take a contraction: the fastest, by a short measurement that is
// remembered.
#pragma once

#include <string>

#include "compile/kernel_memory.h"
#include "compile/turns.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct ChosenKernel {
  Offer offer;
  std::string why;  // "" where there was nothing to choose, or nothing was measured
};

// The key under which the choice is remembered: op, attributes, math, operands, and the threads of
// the caller.
std::string kernel_key(const Request& request);

// What memory has for the request, if that kernel still takes it; else the fastest of those that
// do, the reference apart: the first unless another is an eighth faster, and the first where the
// machine is too busy to tell, which no file remembers. Without memory, for deterministic requests
// and for what is no contraction: the first that takes it. Throws UsageError when none does.
// The stopwatch is for tests.
ChosenKernel choose_fastest(const Request& request, KernelMemory* memory,
                            Stopwatch* stopwatch = nullptr);

}  // namespace narrowgauge
