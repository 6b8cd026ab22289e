// SPDX-License-Identifier: Apache-2.0
// Row conversions that have a version for each instruction set; convert.cpp chooses.
#pragma once

#include <cstdint>

namespace narrowgauge::cpu {

// Narrowing returns how many nonzero values became zero.
struct RowConversions {
  void (*widen_f16)(const std::uint16_t* in, float* out, std::int64_t count);
  void (*widen_bf16)(const std::uint16_t* in, float* out, std::int64_t count);
  std::int64_t (*narrow_f16)(const float* in, std::uint16_t* out, std::int64_t count);
  std::int64_t (*narrow_bf16)(const float* in, std::uint16_t* out, std::int64_t count);
};

namespace avx512 {
extern const RowConversions row_conversions;
}

}  // namespace narrowgauge::cpu
