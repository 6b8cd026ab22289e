// SPDX-License-Identifier: Apache-2.0
// How a picture in a file is to be turned before it is looked at: cameras store what their sensor
// saw, and note in the file (EXIF's tag Orientation) how it was held.
#pragma once

#include <string_view>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// The orientation that a JPEG, PNG or WebP says, 1 to 8 as TIFF 6.0 numbers them. 1, as it is
// stored, for other files and where the note is missing or damaged.
int exif_orientation(std::string_view bytes);

// Pixels u8 [H, W, C] or [H, W] upright; orientations from 5 on swap height and width.
Tensor upright(Tensor pixels, int orientation);

}  // namespace narrowgauge
