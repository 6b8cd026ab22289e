// SPDX-License-Identifier: Apache-2.0
// Reads no more of EXIF than the one tag, by the specification of CIPA DC-008 and TIFF 6.0. All
// reading is within bounds, and what is outside of them reads as if it were not there.
#include "io/images/exif.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace narrowgauge {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view exif_mark = "Exif\0\0"sv;

// Numbers of two and four bytes in either order.
class Numbers {
 public:
  Numbers(std::string_view bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::optional<std::uint32_t> at(std::size_t place, std::size_t width) const {
    if (place > bytes_.size() || bytes_.size() - place < width) return std::nullopt;
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t from = big_endian_ ? place + i : place + width - 1 - i;
      number = number << 8 | static_cast<unsigned char>(bytes_[from]);
    }
    return number;
  }
  std::optional<std::uint32_t> u16(std::size_t place) const { return at(place, 2); }
  std::optional<std::uint32_t> u32(std::size_t place) const { return at(place, 4); }

 private:
  std::string_view bytes_;
  bool big_endian_;
};

std::string_view after(std::string_view bytes, std::size_t count) {
  return bytes.substr(std::min(count, bytes.size()));
}

// The orientation from the tag in the first directory of a TIFF file; 1 where there is none.
int orientation_in_tiff(std::string_view tiff) {
  constexpr std::size_t entry_bytes = 12, first_entry = 2, type_at = 2, count_at = 4, value_at = 8;
  constexpr std::uint32_t orientation_tag = 0x0112, type_short = 3, type_long = 4;
  if (tiff.starts_with(exif_mark)) tiff = after(tiff, exif_mark.size());
  const bool big = tiff.starts_with("MM\0*"sv);
  if (!big && !tiff.starts_with("II*\0"sv)) return 1;
  const Numbers numbers(tiff, big);
  const std::size_t directory = numbers.u32(4).value_or(0);
  const std::size_t entries = directory > 0 ? numbers.u16(directory).value_or(0) : 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + first_entry + i * entry_bytes;
    if (numbers.u16(entry) != orientation_tag) continue;
    const std::uint32_t type = numbers.u16(entry + type_at).value_or(0);
    const bool is_number =
        (type == type_short || type == type_long) && numbers.u32(entry + count_at) == 1u;
    const std::size_t width = type == type_short ? 2 : 4;
    const std::uint32_t value = numbers.at(entry + value_at, width).value_or(1);
    return is_number && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// The segments before the first scan; that of EXIF is APP1.
int orientation_in_jpeg(std::string_view bytes) {
  constexpr unsigned char app1 = 0xe1, start_of_scan = 0xda, end_of_image = 0xd9, fill = 0xff;
  const Numbers numbers(bytes, true);
  std::size_t at = 2;
  while (at + 4 <= bytes.size() && bytes[at] == '\xff') {
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (marker == fill) {
      ++at;
      continue;
    }
    if (marker == start_of_scan || marker == end_of_image) return 1;
    const std::size_t length = numbers.u16(at + 2).value_or(0);
    if (length < 2) return 1;
    const std::string_view segment = after(bytes, at + 4).substr(0, length - 2);
    if (marker == app1 && segment.starts_with(exif_mark)) return orientation_in_tiff(segment);
    at += 2 + length;
  }
  return 1;
}

// A chunk has a length, a name, the data and in PNG a checksum.
int orientation_in_png(std::string_view bytes) {
  constexpr std::size_t signature = 8, head = 8, checksum = 4;
  const Numbers numbers(bytes, true);
  for (std::size_t at = signature; at + head <= bytes.size();) {
    const std::size_t length = numbers.u32(at).value_or(0);
    const std::string_view name = bytes.substr(at + 4, 4);
    if (name == "eXIf"sv) return orientation_in_tiff(after(bytes, at + head).substr(0, length));
    if (name == "IEND"sv) return 1;
    at += head + length + checksum;
  }
  return 1;
}

// RIFF's chunks have a name, a length and the data, of an even number of bytes.
int orientation_in_webp(std::string_view bytes) {
  constexpr std::size_t form = 12, head = 8;
  const Numbers numbers(bytes, false);
  for (std::size_t at = form; at + head <= bytes.size();) {
    const std::size_t length = numbers.u32(at + 4).value_or(0);
    if (bytes.substr(at, 4) == "EXIF"sv)
      return orientation_in_tiff(after(bytes, at + head).substr(0, length));
    at += head + length + length % 2;
  }
  return 1;
}

}  // namespace

int exif_orientation(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff"sv)) return orientation_in_jpeg(bytes);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return orientation_in_png(bytes);
  const bool riff = bytes.starts_with("RIFF"sv) && after(bytes, 8).starts_with("WEBP"sv);
  return riff ? orientation_in_webp(bytes) : 1;
}

// 2 mirrors left and right, 4 top and bottom, 3 both. From 5 on rows are columns: 5 does no more, 6
// mirrors left and right afterwards, 8 top and bottom, 7 both.
Tensor upright(Tensor pixels, int orientation) {
  if (orientation <= 1 || orientation > 8) return pixels;
  const bool swaps = orientation >= 5;
  const bool mirrors_x =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool mirrors_y =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Dims dims = pixels.dims();
  const std::int64_t columns = dims[1], bytes = dims.size() == 3 ? dims[2] : 1;
  if (swaps) std::swap(dims[0], dims[1]);
  Tensor result(DType::u8, dims);
  const std::uint8_t* const from = pixels.values<std::uint8_t>().data();
  std::uint8_t* to = result.values<std::uint8_t>().data();
  for (std::int64_t y = 0; y < dims[0]; ++y)
    for (std::int64_t x = 0; x < dims[1]; ++x) {
      const std::int64_t row = mirrors_y ? dims[0] - 1 - y : y;
      const std::int64_t column = mirrors_x ? dims[1] - 1 - x : x;
      const std::int64_t place = swaps ? column * columns + row : row * columns + column;
      to = std::copy_n(from + place * bytes, bytes, to);
    }
  return result;
}

}  // namespace narrowgauge
