// SPDX-License-Identifier: Apache-2.0
// The normal distribution in f32, in arithmetic that g++ vectorizes without calls: a few times as
// fast as glibc's erfcf in a simd loop.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace narrowgauge::cpu {

struct NormalDistribution {
  float below;    // P(X <= x), within 5e-7 of itself down to x = -13, where it is 6e-39
  float density;  // times sqrt(2 pi): e^(-x^2 / 2)
};

// e^x for x in [-250, 0], within 2 ulp down to the least normal number, 0 below: reduction by Cody
// and Waite, polynomial of Cephes' expf (Moshier).
__attribute__((always_inline)) inline float exponential_of_negative(float x) {
  const float shifted = std::fma(x, 1.44269504088896341F, 0x1.8p23F), n = shifted - 0x1.8p23F;
  const float r = std::fma(n, 2.12194440e-4F, std::fma(n, -0.693359375F, x));
  float p = 1.9875691500e-4F;
  p = std::fma(p, r, 1.3981999507e-3F);
  p = std::fma(p, r, 8.3334519073e-3F);
  p = std::fma(p, r, 4.1665795894e-2F);
  p = std::fma(p, r, 1.6666665459e-1F);
  p = std::fma(p, r, 5.0000001201e-1F);
  p = std::fma(p, r * r, r) + 1.0F;
  // The low bits of `shifted` hold n.
  const std::uint32_t power = std::bit_cast<std::uint32_t>(shifted) << 23;
  const float result = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + power);
  return x < -87.3F ? 0.0F : result;
}

// P(X <= -a) = e^(-a^2 / 2) g(a) / 2 with g(sqrt(2) z) = erfcx(z): t = 1 / (1 + 0.55 z) times a
// polynomial in t, fitted to 2e-8 of erfcx for z from 0 to 14.2. The rounding error of a^2 is added
// back, so that the tail keeps its digits. NaN stays.
__attribute__((always_inline)) inline NormalDistribution normal_distribution(float x) {
  const float size = std::fabs(x), a = size > 20.0F ? 20.0F : size;
  const float square = a * a, flushed = std::fma(a, a, -square);
  const float e = exponential_of_negative(-0.5F * square);
  const float density = std::fma(e, -0.5F * flushed, e);
  const float t = 1.0F / std::fma(a, 0.55F * 0.70710678118654752440F, 1.0F);
  float p = 0x1.b73d2ap-5F;
  p = std::fma(p, t, -0x1.41f8b4p-2F);
  p = std::fma(p, t, 0x1.777fd4p-1F);
  p = std::fma(p, t, -0x1.976390p-1F);
  p = std::fma(p, t, 0x1.48c564p-2F);
  p = std::fma(p, t, -0x1.32269ap-4F);
  p = std::fma(p, t, 0x1.91691cp-3F);
  p = std::fma(p, t, 0x1.0a27eep-2F);
  p = std::fma(p, t, 0x1.3e01e4p-2F);
  p = std::fma(p, t, 0x1.3dbe68p-2F);
  const float tail = 0.5F * density * (p * t);
  return {x > 0.0F ? 1.0F - tail : tail, density};
}

}  // namespace narrowgauge::cpu
