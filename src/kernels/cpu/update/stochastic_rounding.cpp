// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/update/stochastic_rounding.h"

#include <array>
#include <bit>

#include "kernels/cpu/random/random_fill.h"
#include "narrowgauge/error.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace {

// The low 16 bits of f32 are what bf16 lacks. The sum carries into the upper half if the random
// number is less than they are.
void round_to_bf16(const float* values, const std::uint32_t* random, std::int64_t count,
                   bf16* target) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const std::uint32_t magnitude = bits & 0x7fff'ffff;
    const std::uint32_t rounded = (bits + (0xffff - (random[i] >> 16))) >> 16;
    const std::uint32_t special = bits >> 16 | (magnitude > 0x7f80'0000 ? 0x40 : 0);
    target[i].bits = static_cast<std::uint16_t>(magnitude < 0x7f80'0000 ? rounded : special);
  }
}

// Numbers in the range of normal f16, by the low 13 bits that f16 lacks; then the few others.
void round_to_f16(const float* values, const std::uint32_t* random, std::int64_t count,
                  f16* target) {
  constexpr std::uint32_t least_normal = 0x3880'0000, too_large = 0x4780'0000;  // 2^-14, 2^16
  constexpr std::uint32_t rebias = (127 - 15) << 10;
  std::uint32_t others = 0;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const std::uint32_t magnitude = bits & 0x7fff'ffff;
    const std::uint32_t rounded = ((magnitude + (0x1fff - (random[i] >> 19))) >> 13) - rebias;
    target[i].bits = static_cast<std::uint16_t>((bits >> 16 & 0x8000) | rounded);
    others |= static_cast<std::uint32_t>(magnitude - least_normal >= too_large - least_normal);
  }
  if (others == 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7fff'ffff;
    if (magnitude - least_normal >= too_large - least_normal)
      target[i] = narrow_stochastic<f16>(values[i], random[i]);
  }
}

}  // namespace

void store_stochastically(const Array& target, std::int64_t offset, std::int64_t count,
                          const float* values, const RandomStream& stream) {
  NG_INVARIANT(count <= strip_length);
  std::array<std::uint32_t, strip_length> random;
  random_bits(stream, static_cast<std::uint64_t>(offset), count, random.data());
  if (target.dtype == DType::bf16)
    return round_to_bf16(values, random.data(), count, static_cast<bf16*>(target.data) + offset);
  NG_INVARIANT(target.dtype == DType::f16);
  round_to_f16(values, random.data(), count, static_cast<f16*>(target.data) + offset);
}

}  // namespace narrowgauge::cpu
