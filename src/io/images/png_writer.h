// SPDX-License-Identifier: Apache-2.0
// Pictures as the bytes of a PNG file (ISO/IEC 15948).
#pragma once

#include <string>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Of u8 [H, W, 1], which is grey, or [H, W, 3], which is RGB. Throws UsageError for others.
std::string encode_png(const Tensor& pixels);

}  // namespace narrowgauge
