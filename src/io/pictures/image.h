// SPDX-License-Identifier: Apache-2.0
// Pictures in files: JPEG, PNG, WebP, BMP and PNM, which their first bytes tell, whatever the name;
// and sounds, whose picture is their spectrogram.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/images/codecs.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// How many channels a picture gets, and their order.
enum class ImageColours : std::uint8_t { rgb, bgr, grey };

// u8 [H, W, C], as Pillow reads it: transparency is dropped, palettes are expanded, of 16 bits a
// sample the upper 8 are kept, grey is (299 R + 587 G + 114 B) / 1000 rounded, and as it is stored:
// a note in the file that the picture be turned (EXIF) is not obeyed. Throws DataError, which
// begins with `source`, for what is damaged, broken off, of another format, or has more pixels.
Tensor decode_image(std::string_view bytes, const std::string& source, ImageColours colours,
                    std::int64_t most_pixels = most_pixels_of_image);
// The picture as decode_image() reads it, but upright as the file says that it is to be seen.
Tensor decode_upright(std::string_view bytes, const std::string& source, ImageColours colours);
// The picture in a regular file, upright; errors name the file.
Tensor read_image(const std::string& path, ImageColours colours);
// The numbers u8 [H, W] of a mask in a regular file, upright: a PNG, BMP or PNM of one channel.
// Throws DataError naming the file.
Tensor read_mask(const std::string& path);
// The mask of a picture in a file, which is so large upright. A mask that has the size of the
// picture only as that is stored was drawn on it so, and is turned with it. Throws DataError for a
// mask of another size.
Tensor read_mask_of(const std::string& picture, const std::string& mask, std::int64_t height,
                    std::int64_t width);

}  // namespace narrowgauge
