// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding of f32 to f16 and bf16: a number becomes the neighbour above it with the
// probability of what it lies above the one below, so that a sum of many small numbers is right on
// average.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

// target[offset + i] is values[i] as narrow_stochastic() (tensor/values.h) rounds it by the number
// offset + i of the stream: the same for any number of threads. At most strip_length elements.
void store_stochastically(const Array& target, std::int64_t offset, std::int64_t count,
                          const float* values, const RandomStream& stream);

}  // namespace narrowgauge::cpu
