// SPDX-License-Identifier: Apache-2.0
// The loops of column_sums.h over any vector type with the members of simd.h.
#pragma once

#include "kernels/cpu/reduce/column_sums.h"

namespace narrowgauge::cpu {

template <class Float>
struct ColumnSumLoops {
  template <class Stored>
  static Float eight(const Stored* x, std::int64_t columns) {
    Float sum[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) sum[r] = Float::load(x + r * columns);
#pragma GCC unroll 3
    for (int half = 4; half > 0; half /= 2)
#pragma GCC unroll 4
      for (int r = 0; r < half; ++r) sum[r] = sum[r] + sum[r + half];
    return sum[0];
  }

  template <class Stored>
  static void add(const void* from, std::int64_t count, std::int64_t columns, float* sums) {
    const auto* x = static_cast<const Stored*>(from);
    std::int64_t row = 0;
    const std::int64_t whole = columns / Float::lanes * Float::lanes;
    for (; row + 8 <= count; row += 8, x += 8 * columns) {
      for (std::int64_t j = 0; j < whole; j += Float::lanes)
        (Float::load(sums + j) + eight(x + j, columns)).store(sums + j);
      for (int r = 0; r < 8; ++r) add_few(x + r * columns, whole, columns, sums);
    }
    for (; row < count; ++row, x += columns) {
      for (std::int64_t j = 0; j < whole; j += Float::lanes)
        (Float::load(sums + j) + Float::load(x + j)).store(sums + j);
      add_few(x, whole, columns, sums);
    }
  }

  // Sums the columns from `begin` on, fewer than a vector has lanes.
  template <class Stored>
  static void add_few(const Stored* x, std::int64_t begin, std::int64_t columns, float* sums) {
    for (std::int64_t j = begin; j < columns; ++j) sums[j] += Float::one(x[j]);
  }

  static constexpr ColumnSums table() {
    return {.f32 = add<float>, .f16 = add<typename Float::F16>, .bf16 = add<typename Float::Bf16>};
  }
};

}  // namespace narrowgauge::cpu
