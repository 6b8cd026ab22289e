// SPDX-License-Identifier: Apache-2.0
#include "io/pictures/image.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "io/files/shared_bytes.h"
#include "io/images/codecs.h"
#include "io/images/exif.h"
#include "io/pictures/formats.h"
#include "io/sounds/decode_sound.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

using namespace std::string_view_literals;

bool is_pnm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
         " \t\r\n#"sv.find(bytes[2]) != std::string_view::npos;
}

bool is_webp(std::string_view bytes) {
  return bytes.starts_with("RIFF") &&
         bytes.substr(std::min<std::size_t>(bytes.size(), 8)).starts_with("WEBP");
}

bool is_tiff(std::string_view bytes) {
  return bytes.starts_with("II*\0"sv) || bytes.starts_with("MM\0*"sv);
}

bool is_jpeg2000(std::string_view bytes) {
  return bytes.starts_with("\0\0\0\x0cjP  "sv) || bytes.starts_with("\xff\x4f\xff\x51"sv);
}

constexpr ImageFormat formats[] = {
    {"JPEG", [](std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"sv); },
     decode_jpeg},
    {"PNG", [](std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"sv); },
     decode_png},
    {"WebP", is_webp, decode_webp},
    {"BMP", [](std::string_view bytes) { return bytes.starts_with("BM"sv); }, decode_bmp},
    {"PNM", is_pnm, decode_pnm},
    {"TIFF", is_tiff},
    {"JPEG 2000", is_jpeg2000},
    {"GIF", [](std::string_view bytes) { return bytes.starts_with("GIF8"sv); }},
    {"WAV", is_wav, decode_sound, true},
    {"FLAC", is_flac, decode_sound, true},
    {"Ogg", is_ogg, decode_sound, true},
    {"MP3", is_mp3, decode_sound, true},
};

// ITU-R BT.601's luma in 16 bits, as Pillow rounds it: the weights add up to 65536.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 32768) >> 16);
}

Tensor grey_of(const Tensor& rgb) {
  Tensor grey(DType::u8, {rgb.dims()[0], rgb.dims()[1], 1});
  const std::uint8_t* from = rgb.values<std::uint8_t>().data();
  for (std::uint8_t& pixel : grey.values<std::uint8_t>()) {
    pixel = luma(from);
    from += 3;
  }
  return grey;
}

Tensor three_of(const Tensor& grey) {
  Tensor rgb(DType::u8, {grey.dims()[0], grey.dims()[1], 3});
  std::uint8_t* to = rgb.values<std::uint8_t>().data();
  for (const std::uint8_t pixel : grey.values<std::uint8_t>()) to = std::fill_n(to, 3, pixel);
  return rgb;
}

Tensor in_colours(Tensor pixels, ImageColours colours) {
  const bool is_grey = pixels.dims()[2] == 1;
  if (colours == ImageColours::grey) return is_grey ? pixels : grey_of(pixels);
  if (is_grey) return three_of(pixels);
  if (colours == ImageColours::rgb) return pixels;
  const std::span<std::uint8_t> values = pixels.values<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); i += 3) std::swap(values[i], values[i + 2]);
  return pixels;
}

}  // namespace

const ImageFormat* image_format_of(std::string_view bytes) {
  const auto* const found = std::ranges::find_if(
      formats, [&](const ImageFormat& format) { return format.begins(bytes); });
  return found == std::end(formats) ? nullptr : found;
}

bool is_sound(std::string_view bytes) {
  const ImageFormat* const format = image_format_of(bytes);
  return format != nullptr && format->is_sound;
}

Tensor decode_image(std::string_view bytes, const std::string& source, ImageColours colours,
                    std::int64_t most_pixels) {
  const ImageFormat* const format = image_format_of(bytes);
  require<DataError>(format, source, ": expected a picture (", image_formats, ") or a sound (",
                     sound_formats, ')');
  require<DataError>(format->decode, source, ": a picture in ", format->name, ", and only ",
                     image_formats, " are read");
  try {
    return in_colours(format->decode(bytes, most_pixels), colours);
  } catch (const DataError& error) {
    throw DataError(concat(source, ": the ", format->name, " cannot be read (", error.what(), ")"));
  }
}

Tensor decode_upright(std::string_view bytes, const std::string& source, ImageColours colours) {
  return upright(decode_image(bytes, source, colours), exif_orientation(bytes));
}

Tensor read_image(const std::string& path, ImageColours colours) {
  return decode_upright(map_file(path).view(), path, colours);
}

Tensor read_mask(const std::string& path) {
  const SharedBytes bytes = map_file(path);
  const ImageFormat* const format = image_format_of(bytes.view());
  const std::string_view name = format ? format->name : "";
  require<DataError>(name == "PNG" || name == "BMP" || name == "PNM", path,
                     ": expected a mask as a PNG, BMP or PNM, found ",
                     format ? name : "none of them");
  try {
    const Tensor pixels = name == "PNG" ? decode_png_numbers(bytes.view(), most_pixels_of_image)
                                        : format->decode(bytes.view(), most_pixels_of_image);
    require<DataError>(pixels.dims()[2] == 1, "it has colours, and not one number a pixel");
    return upright(pixels.reshaped({pixels.dims()[0], pixels.dims()[1]}),
                   exif_orientation(bytes.view()));
  } catch (const DataError& error) {
    throw DataError(concat(path, ": the mask cannot be read (", error.what(), ")"));
  }
}

Tensor read_mask_of(const std::string& picture, const std::string& mask, std::int64_t height,
                    std::int64_t width) {
  Tensor numbers = read_mask(mask);
  if (height != width && numbers.dims() == Dims{width, height}) {
    const int orientation = exif_orientation(map_file(picture).view());
    constexpr int first_that_swaps = 5;
    if (orientation >= first_that_swaps) numbers = upright(std::move(numbers), orientation);
  }
  require<DataError>(numbers.dims() == Dims{height, width}, mask, ": has ", numbers.dims()[1], 'x',
                     numbers.dims()[0], " pixels, its picture ", width, 'x', height);
  return numbers;
}

}  // namespace narrowgauge
