// SPDX-License-Identifier: Apache-2.0
// Pictures as PNG.
#pragma once

#include <string>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// The bytes of a file that holds u8 [H, W, 1] of grey or u8 [H, W, 3] of RGB. Throws UsageError for
// another tensor, DataError where libpng fails.
std::string encode_png(const Tensor& image);

}  // namespace narrowgauge
