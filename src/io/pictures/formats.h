// SPDX-License-Identifier: Apache-2.0
// The formats of pictures, and of sounds, by the bytes that a file begins with.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct ImageFormat {
  std::string_view name;
  bool (*begins)(std::string_view bytes);
  // u8 [H, W, 1] of grey or u8 [H, W, 3] of RGB. Throws DataError, which says what is wrong but not
  // where. Without it the format is known by name only.
  Tensor (*decode)(std::string_view bytes, std::int64_t most_pixels) = nullptr;
  bool is_sound = false;  // whose picture is its spectrogram
};

// nullptr for bytes that are no picture of a known format.
const ImageFormat* image_format_of(std::string_view bytes);

// Whether they are a sound of a known format.
bool is_sound(std::string_view bytes);

// "JPEG, PNG, WebP, BMP and PNM": those that are read.
inline constexpr std::string_view image_formats = "JPEG, PNG, WebP, BMP and PNM";

}  // namespace narrowgauge
