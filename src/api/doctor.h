// SPDX-License-Identifier: Apache-2.0
// What this machine is and can do, measured: for `narrowgauge doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/dtype.h"

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

// How fast contractions of one format run.
struct MathRate {
  DType format = DType::f32;
  std::string product, convolution;                   // whose kernels, and how
  double product_gflops = 0, convolution_gflops = 0;  // 1e9 multiplications and additions a second
  bool widened() const { return product.find("widened") != std::string::npos; }
};
// f32, f16 and bf16; each takes about twice `seconds`.
std::vector<MathRate> measure_math(double seconds);

// Bytes a second of a copy far larger than the caches, read and written.
double measure_copy(double seconds);

}  // namespace narrowgauge
