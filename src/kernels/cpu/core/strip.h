// SPDX-License-Identifier: Apache-2.0
// Arrays of f32, f16 or bf16 and the strips in which kernels read and write them: a strip is
// widened into a buffer that stays in L1, computed in f32 and narrowed back. f32 needs no buffer.
#pragma once

#include <array>
#include <cstdint>

#include "narrowgauge/dtype.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t strip_length = 1024;  // elements: 4 KB in f32
using StripBuffer = std::array<float, strip_length>;

// The distance between strips that are in L1 together: not a power of two, so that they use
// different sets.
inline constexpr std::int64_t row_distance = strip_length + 16;

// Elements in memory. `pitch`: elements between slices of the outermost axis, for kernels that take
// a ChannelLayout (0: dense); other kernels read dense arrays.
struct ConstArray {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t pitch = 0;
  explicit operator bool() const { return data != nullptr; }
};
// `flushed`, if given, grows by the number of nonzero results that became zero.
struct Array {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t pitch = 0;
  std::int64_t* flushed = nullptr;
  explicit operator bool() const { return data != nullptr; }
  operator ConstArray() const { return {data, dtype, pitch}; }  // NOLINT: reading is always allowed
};

// `count` elements from `offset` as f32: in place if they are f32, else in `buffer`.
const float* load_strip(ConstArray source, std::int64_t offset, std::int64_t count, float* buffer);
// Where to compute the results for `offset`: in place if f32, else in `buffer`.
float* result_strip(const Array& target, std::int64_t offset, float* buffer);
// Stores a strip of results; does nothing if it was computed in place.
void store_strip(const Array& target, std::int64_t offset, std::int64_t count, const float* strip);

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace narrowgauge::cpu
