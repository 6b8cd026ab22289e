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

Tensor decode_bmp(std::string_view bytes, std::int64_t most_pixels);
Tensor decode_jpeg(std::string_view bytes, std::int64_t most_pixels);
Tensor decode_png(std::string_view bytes, std::int64_t most_pixels);
// The numbers of a PNG as they are in the file: indices of its palette, or grey that is not
// stretched. Throws DataError for one with colours or of 16 bits.
Tensor decode_png_numbers(std::string_view bytes, std::int64_t most_pixels);
Tensor decode_pnm(std::string_view bytes, std::int64_t most_pixels);
Tensor decode_webp(std::string_view bytes, std::int64_t most_pixels);

// What a header says must be known to be possible before memory is taken for it. Throws DataError.
void require_image_size(std::int64_t width, std::int64_t height, std::int64_t most_pixels);

}  // namespace narrowgauge
