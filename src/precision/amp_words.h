// SPDX-License-Identifier: Apache-2.0
// The words of --amp and NARROWGAUGE_AMP: "off" is f32, the others are called as their format.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "narrowgauge/dtype.h"

namespace narrowgauge {

inline constexpr std::array amp_formats{DType::f32, DType::f16, DType::bf16};

inline std::string_view amp_of_format(DType format) {
  return format == DType::f32 ? "off" : name(format);
}

inline std::optional<DType> format_of_amp(std::string_view word) {
  for (const DType format : amp_formats)
    if (amp_of_format(format) == word) return format;
  return std::nullopt;
}

}  // namespace narrowgauge
