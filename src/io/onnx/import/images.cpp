// SPDX-License-Identifier: Apache-2.0
// ONNX's ImageDecoder: how large a picture is stands in its bytes, so that it is decoded while a
// model is imported.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "io/onnx/import/handlers.h"
#include "io/pictures/formats.h"
#include "io/pictures/image.h"

namespace narrowgauge::onnx {

namespace {

ImageColours colours_of(const std::string& format) {
  if (format == "RGB") return ImageColours::rgb;
  if (format == "BGR") return ImageColours::bgr;
  require<ModelError>(format == "Grayscale", "pixel_format: expected RGB, BGR or Grayscale, got ",
                      format);
  return ImageColours::grey;
}

// What cannot be decoded becomes an empty picture, as ONNX's text on the op says; a format that we
// do not read is refused.
Items image_decoder(NodeImport& node) {
  const ImageColours colours = colours_of(node.take<std::string>("pixel_format").value_or("RGB"));
  const Tensor& encoded = node.constant(0);
  require<ModelError>(encoded.dtype() == DType::u8 && encoded.dims().size() == 1,
                      "input 0 must be u8[n], got ", encoded.type());
  const std::string_view bytes(reinterpret_cast<const char*>(encoded.data()),
                               static_cast<std::size_t>(encoded.size()));
  const ImageFormat* const format = image_format_of(bytes);
  require<ModelError>(!format || format->decode, "pictures in ", format ? format->name : "",
                      " are not supported, only ", image_formats);
  try {
    return {Item::of(node.constant(decode_image(bytes, "input 0", colours)))};
  } catch (const DataError& error) {
    log(LogLevel::warning, concat("ImageDecoder gives an empty picture: ", error.what()));
    return {
        Item::of(node.constant(Tensor(DType::u8, {0, 0, colours == ImageColours::grey ? 1 : 3})))};
  }
}

constexpr NamedHandler images_table[] = {{"ImageDecoder", image_decoder, "encoded pictures"}};

}  // namespace

std::span<const NamedHandler> image_handlers() { return images_table; }

}  // namespace narrowgauge::onnx
