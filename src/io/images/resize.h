// SPDX-License-Identifier: Apache-2.0
// Pictures in another size.
#pragma once

#include <cstdint>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// A part of a picture, in pixels; edges may lie inside of them.
struct ImageBox {
  double top = 0, left = 0, bottom = 0, right = 0;
};

// The largest part in the middle of a picture that has the shape of height x width.
ImageBox middle_box(std::int64_t image_height, std::int64_t image_width, std::int64_t height,
                    std::int64_t width);

// The part of u8 [H, W, C] as f32 [height, width, C], bilinearly and, where it becomes smaller, by
// triangles as wide as the pixels that one of the result stands for: Pillow's BILINEAR, not rounded
// to whole numbers.
Tensor resized_image(const Tensor& image, const ImageBox& box, std::int64_t height,
                     std::int64_t width);

}  // namespace narrowgauge
