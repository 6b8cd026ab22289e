// SPDX-License-Identifier: Apache-2.0
// Random values for tests of quantisation.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "quantize/histogram.h"

namespace narrowgauge::testing_values {

using Floats = std::vector<float>;

inline Floats normal(std::size_t count, float scale = 1, unsigned seed = 1) {
  std::mt19937 dice(seed);
  std::normal_distribution<float> draw(0, scale);
  Floats values(count);
  for (float& value : values) value = draw(dice);
  return values;
}

// Normal to the third power.
inline Floats heavy_tail(std::size_t count, unsigned seed = 2) {
  Floats values = normal(count, 1, seed);
  for (float& value : values) value = value * value * value;
  return values;
}

inline Floats relu(std::size_t count, unsigned seed = 3) {
  Floats values = normal(count, 1, seed);
  for (float& value : values) value = value > 0 ? value : 0;
  return values;
}

// Any bits: subnormals, NaN and infinities among them.
inline Floats any_bits(std::size_t count, unsigned seed = 4) {
  std::mt19937 dice(seed);
  Floats values(count);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(dice()));
  constexpr float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3e38f};
  for (std::size_t i = 0; i < values.size(); i += 17) values[i] = special[i / 17 % 8];
  return values;
}

inline Histogram histogram_of(std::span<const float> values) {
  Histogram histogram;
  histogram.add(values);
  return histogram;
}

}  // namespace narrowgauge::testing_values
