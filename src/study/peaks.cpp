// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cpu/peak/peak.h"
#include "narrowgauge/roofline.h"

namespace narrowgauge {

double PeakRates::of(Math contract) const {
  constexpr double products = 3;
  switch (contract) {
    case Math::bf16:
      return std::max({f32, bf16, int16});
    case Math::f32:
    case Math::bf16x3:
      return std::max({f32, int16, bf16 / products});
    case Math::f16:
    case Math::dfp16:
      return std::max({f32, int16, int8 / products});
    default:
      return f32;
  }
}

PeakRates measure_peaks(double seconds) {
  using cpu::Unit;
  return {cpu::measure_unit(Unit::f32, seconds), cpu::measure_unit(Unit::bf16, seconds),
          cpu::measure_unit(Unit::int16, seconds), cpu::measure_unit(Unit::int8, seconds),
          cpu::measure_memory(2 * seconds)};
}

PeakRates best_of(const PeakRates& a, const PeakRates& b) {
  return {std::max(a.f32, b.f32), std::max(a.bf16, b.bf16), std::max(a.int16, b.int16),
          std::max(a.int8, b.int8), std::max(a.memory, b.memory)};
}

}  // namespace narrowgauge
