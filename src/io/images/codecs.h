// SPDX-License-Identifier: Apache-2.0
// Decoders of the formats of pictures: u8 [H, W, 1] of grey or u8 [H, W, 3] of RGB. They throw
// DataError, which says what is wrong but not where.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

constexpr std::int64_t most_pixels_of_image = std::int64_t{1} << 28;

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
