// SPDX-License-Identifier: Apache-2.0
// What products of pairs are tried with on this CPU.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/machine/cpu.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {

#define NG_NEEDS_VNNI() \
  if (isa() < Isa::vnni) GTEST_SKIP() << "no AVX512_VNNI here"

// A format, and the operands that it is tried with.
struct Way {
  PairFormat format;
  DType dtype;
};

inline std::string text(const Way& way) { return concat(name(way.format), " from ", way.dtype); }

// All that this CPU has.
inline std::vector<Way> ways() {
  std::vector<Way> all{{PairFormat::dfp16, DType::f16}, {PairFormat::dfp16, DType::f32}};
  if (isa() < Isa::amx) all.push_back({PairFormat::dfp16, DType::bf16});
  if (isa() == Isa::bf16) all.push_back({PairFormat::bf16, DType::bf16});
  return all;
}

// The largest error of sums of the operands as they are, stored in `out`.
inline double most_error(const Way& way, DType out) {
  if (out == DType::bf16) return 1.9e-3;
  if (out == DType::f16) return 5e-4;
  return way.format == PairFormat::dfp16 ? 4e-4 : 1e-6;
}

}  // namespace narrowgauge::cpu
