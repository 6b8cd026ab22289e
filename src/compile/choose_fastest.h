// SPDX-License-Identifier: Apache-2.0
// Chooses among the kernels that take a contraction: the fastest, by a short measurement that is
// remembered.
#pragma once

#include <string>

#include "compile/kernel_memory.h"
#include "compile/turns.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct ChosenKernel {
  Offer offer;
  std::string why;  // "" if there was nothing to choose or nothing was measured
};

// Takes the remembered kernel if it still accepts the request; else the fastest that accepts it,
// the reference aside: the first unless another is an eighth faster. If the machine is too busy to
// tell, it is the first, and no file remembers that. Without memory, for deterministic requests and
// for anything but contractions, alone or with elementwise ops behind them: the first that accepts.
// Throws UsageError if none does. An offer that was not measured may not be ready. Tests pass a
// stopwatch.
// A choice is remembered by op, attributes, math, operands, and the caller's number of threads.
// Beyond 16 samples, batches between two steps of a quarter octave (20, 24, 28, 32, 40, ...) share
// one, whichever of them came first; these steps themselves have their own.
ChosenKernel choose_fastest(const Request& request, KernelMemory* memory,
                            Stopwatch* stopwatch = nullptr);

// The first that takes the request, asked and not made ready: for a target that need not be this
// machine. `why` says where a measurement would decide, and between which.
ChosenKernel first_to_take(const Request& request);

}  // namespace narrowgauge
