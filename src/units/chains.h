// SPDX-License-Identifier: Apache-2.0
// The sums that CPUs and CUDA cores chain in f32, and exact integer sums, for blocks of a few rows
// by 16 columns.
#pragma once

#include <cstdint>

#include "narrowgauge/matrix_unit.h"

namespace narrowgauge::sim {

inline constexpr std::int64_t chain_rows = 4;

// Values of rows [chain_rows][depth] and columns [depth][16]; sums [chain_rows][16] hold c on
// entry, d on return.
struct ChainBlock {
  const UnitModel& model;
  std::int64_t depth;
  const float *rows, *columns;
};

// Computes fma_chain, even_and_odd or odd_then_even. The last two flush subnormals by the CPU's
// mode, which the caller must set: see FloatMode.
void add_chains(const ChainBlock& block, float* sums);
void add_integers(const ChainBlock& block, std::uint32_t* sums);

// Sets rounding to nearest and the thread's handling of subnormals; restores the old mode.
class FloatMode {
 public:
  explicit FloatMode(bool flush);
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  unsigned saved_;
};

}  // namespace narrowgauge::sim
