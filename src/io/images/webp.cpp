// SPDX-License-Identifier: Apache-2.0
// WebP, by libwebp.
#include <webp/decode.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "io/images/codecs.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

const char* text_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_BITSTREAM_ERROR:
      return "its data is corrupt";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it has a feature that is not supported";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file ends too early";
    default:
      return "it cannot be read";
  }
}

void check(VP8StatusCode status) {
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  require<DataError>(status == VP8_STATUS_OK, text_of(status));
}

}  // namespace

Tensor decode_webp(std::string_view bytes, std::int64_t most_pixels) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPDecoderConfig config;
  require<DataError>(WebPInitDecoderConfig(&config), "libwebp is of another version");
  check(WebPGetFeatures(data, bytes.size(), &config.input));
  require<DataError>(!config.input.has_animation,
                     "it is animated, and only single pictures are read");
  const std::int64_t width = config.input.width, height = config.input.height;
  require_image_size(width, height, most_pixels);
  Tensor pixels(DType::u8, {height, width, 3});
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {reinterpret_cast<std::uint8_t*>(pixels.data()),
                          static_cast<int>(width * 3), static_cast<std::size_t>(pixels.bytes())};
  const VP8StatusCode status = WebPDecode(data, bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  check(status);
  return pixels;
}

}  // namespace narrowgauge
