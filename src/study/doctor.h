// SPDX-License-Identifier: Apache-2.0
// What this machine is and can do, measured: for `narrowgauge doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/training/amp_choice.h"
#include "narrowgauge/dtype.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

struct Machine {
  std::string cpu;
  std::string detected_isa, used_isa;  // they differ under NARROWGAUGE_ISA
  int cores = 0, threads = 0;          // of this process; of a step
  std::int64_t memory = 0;             // bytes of RAM
  std::int64_t free_memory = 0;        // bytes that could be had now
  std::string gpu;                     // or why there is none
};
Machine examine_machine();

// How fast contractions of one kind run: a matrix product, and the convolutions of a training step
// (forward and both gradients), with the kernels that a plan would choose.
struct MathRate {
  Math math = Math::f32;
  DType format = DType::f32;         // of the operands
  std::string product, convolution;  // whose kernels, and how
  KernelFacts product_facts, convolution_facts;
  double product_gflops = 0, convolution_gflops = 0;  // 1e9 multiplications and additions a second
  double gflops() const;                              // the geometric mean of both
};
struct MathRates {
  std::vector<MathRate> rates;             // ieee, f32, dfp16 (all of f32 values), bf16 and f16
  Grounds grounds = Grounds::all_threads;  // model: there are no rates, only kernels

  const MathRate& of(Math math) const;
  // Rates in f32, bf16 and f16: measured, or modelled from the units of this tier.
  std::vector<FormatRate> formats(Isa isa) const;
};
// Measures all kinds in turn. Tests pass other stopwatches.
MathRates measure_math(const MakeStopwatch& make = make_stopwatch);

}  // namespace narrowgauge
