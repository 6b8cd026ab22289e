// SPDX-License-Identifier: Apache-2.0
#include "io/images/codecs.h"

#include "narrowgauge/error.h"

namespace narrowgauge {

void require_image_size(std::int64_t width, std::int64_t height, std::int64_t most_pixels) {
  require<DataError>(width > 0 && height > 0, "it says that it has ", width, " x ", height,
                     " pixels");
  require<DataError>(width <= most_pixels / height, "it says that it has ", width, " x ", height,
                     " pixels, and ", most_pixels, " is the most");
}

}  // namespace narrowgauge
