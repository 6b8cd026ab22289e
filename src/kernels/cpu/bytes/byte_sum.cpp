// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/byte_sum.h"

#include "ir/reason.h"

namespace narrowgauge::cpu {

// The kernel multiplies by the reciprocal of y's scale, and must neither overflow nor underflow.
std::string byte_sum_reason(const ByteSum& sum, Isa isa) {
  constexpr float least = 0x1p-40F, most = 0x1p40F;
  const auto fits = [](const ByteTerm& term) { return term.scale >= least && term.scale <= most; };
  return first_reason([&] { return unless(isa >= Isa::avx512, "needs avx512"); },
                      [&] {
                        return unless(fits(sum.a) && fits(sum.b) && fits(sum.y),
                                      "scales below 2^-40 or over 2^40");
                      });
}

}  // namespace narrowgauge::cpu
