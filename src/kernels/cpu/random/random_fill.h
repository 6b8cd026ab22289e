// SPDX-License-Identifier: Apache-2.0
// Random bits and dropout. An element's number depends only on the stream and its index, not on the
// thread, so a recomputed mask is the same mask.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

// out[i] = stream.bits(first + i), many at a time.
void random_bits(const RandomStream& stream, std::uint64_t first, std::int64_t count,
                 std::uint32_t* out);

// stream.short_bits(first + i) for i below `count`; `room` is for count / 2 + 1 numbers.
const std::uint16_t* random_shorts(const RandomStream& stream, std::uint64_t first,
                                   std::int64_t count, std::uint32_t* room);

namespace avx512 {
// Computes blocks first to first + 15 of the stream.
void philox_sixteen(const RandomStream& stream, std::uint64_t first, std::uint32_t* out);
}  // namespace avx512

// y[i] = x[i] / keep where stream.short_bits(i) < keep * 2^16, else 0. In place is allowed.
struct Dropout {
  std::int64_t count = 0;
  ConstArray x;
  Array y;
  float keep = 1.0F;
  bool* mask = nullptr;  // where wanted: which elements were kept
};
void dropout(const Dropout& dropout, const RandomStream& stream);

}  // namespace narrowgauge::cpu
