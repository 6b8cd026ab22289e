// SPDX-License-Identifier: Apache-2.0
// Functions without branches, which the compiler turns into vector code inside a loop.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace narrowgauge::cpu {
// Each translation unit has its own copy: one that is compiled for AVX-512 must not be the one that
// the linker keeps for all.
namespace {

// e^x within 1 ulp; overflow gives inf, underflow subnormals and 0, NaN stays NaN. Reduction by
// Cody and Waite, polynomial of Cephes' expf (Moshier).
inline float exp_f32(float x) {
  constexpr float to_integer = 0x1.8p23F;  // added and taken off again, rounds to nearest
  x = x > 89.0F ? 89.0F : x;
  x = x < -104.0F ? -104.0F : x;
  const float shifted = std::fma(x, 1.44269504088896341F, to_integer);
  const float n = shifted - to_integer;
  float r = std::fma(n, -0.693359375F, x);
  r = std::fma(n, 2.12194440e-4F, r);
  float p = 1.9875691500e-4F;
  p = std::fma(p, r, 1.3981999507e-3F);
  p = std::fma(p, r, 8.3334519073e-3F);
  p = std::fma(p, r, 4.1665795894e-2F);
  p = std::fma(p, r, 1.6666665459e-1F);
  p = std::fma(p, r, 5.0000001201e-1F);
  p = std::fma(p, r * r, r) + 1.0F;
  // 2^n in two factors, since n reaches from -150 to 128; the low bits of `shifted` hold n.
  const auto bits =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(to_integer);
  const auto exponent = static_cast<std::int32_t>(bits);
  const std::int32_t half = exponent >> 1;
  const auto power = [](std::int32_t e) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
  };
  return p * power(half) * power(exponent - half);
}

}  // namespace
}  // namespace narrowgauge::cpu
