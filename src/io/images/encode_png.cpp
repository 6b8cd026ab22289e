// SPDX-License-Identifier: Apache-2.0
#include "io/images/encode_png.h"

#include <png.h>

#include <cstring>
#include <new>

#include "narrowgauge/error.h"

namespace narrowgauge {

std::string encode_png(const Tensor& image) {
  const Dims& dims = image.dims();
  const bool fits = image.dtype() == DType::u8 && dims.size() == 3 && image.size() > 0 &&
                    (dims[2] == 1 || dims[2] == 3) && dims[0] < 1 << 16 && dims[1] < 1 << 16;
  require(fits, "png: expected u8 [H,W,1] or [H,W,3] of up to 65535 pixels a side, got ",
          image.type());
  png_image facts{};
  facts.version = PNG_IMAGE_VERSION;
  facts.height = static_cast<png_uint_32>(dims[0]);
  facts.width = static_cast<png_uint_32>(dims[1]);
  facts.format = dims[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(facts), '\0');
  png_alloc_size_t size = bytes.size();
  const int written =
      png_image_write_to_memory(&facts, bytes.data(), &size, 0, image.data(), 0, nullptr);
  if (written == 0 && std::strstr(facts.message, "memory")) throw std::bad_alloc();
  require<DataError>(written != 0, "png: ", facts.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace narrowgauge
