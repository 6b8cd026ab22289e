// SPDX-License-Identifier: Apache-2.0
// BMP without compression: palettes of 1, 4 and 8 bits, colours of 16, 24 and 32 bits.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/images/codecs.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

// Whole numbers at places of a file, the lowest byte first.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t byte(std::int64_t at) const {
    require<DataError>(at < std::ssize(bytes_), "the file ends too early");
    return static_cast<std::uint8_t>(bytes_[static_cast<std::size_t>(at)]);
  }
  std::uint32_t number(std::int64_t at, int count) const {
    std::uint32_t result = 0;
    for (int i = 0; i < count; ++i) result |= std::uint32_t{byte(at + i)} << (8 * i);
    return result;
  }
  std::int64_t signed_number(std::int64_t at) const {
    return static_cast<std::int32_t>(number(at, 4));
  }
  std::int64_t size() const { return std::ssize(bytes_); }

 private:
  std::string_view bytes_;
};

constexpr std::int64_t info_at = 14;
constexpr std::uint32_t core_size = 12,
                        info_size = 40;  // of OS/2's header, and the least of Windows'
constexpr std::uint32_t plain = 0, with_masks = 3;

struct BmpHeader {
  std::int64_t width = 0, height = 0;
  bool bottom_first = true;
  int bits = 0;  // of a pixel
  std::int64_t pixels_at = 0, palette_at = 0, palette_entry = 4, palette_size = 0;
  std::array<std::uint32_t, 3> masks{};  // of red, green and blue, for 16 and 32 bits

  std::int64_t row_bytes() const { return (width * bits + 7) / 8; }
  std::int64_t row_stride() const { return (width * bits + 31) / 32 * 4; }
};

BmpHeader core_header(const Bytes& bytes) {
  BmpHeader header;
  header.width = bytes.number(18, 2);
  header.height = bytes.number(20, 2);
  header.bits = static_cast<int>(bytes.number(24, 2));
  header.palette_at = info_at + core_size;
  header.palette_entry = 3;
  return header;
}

BmpHeader info_header(const Bytes& bytes, std::uint32_t size) {
  BmpHeader header;
  header.width = bytes.signed_number(18);
  const std::int64_t height = bytes.signed_number(22);
  header.bottom_first = height > 0;
  header.height = height > 0 ? height : -height;
  header.bits = static_cast<int>(bytes.number(28, 2));
  const std::uint32_t compression = bytes.number(30, 4);
  require<DataError>(compression == plain || compression == with_masks,
                     "it is compressed, in the way ", compression, ", which is not supported");
  header.palette_size = bytes.number(46, 4);
  header.palette_at = info_at + size;
  if (header.bits == 16) header.masks = {0x7c00, 0x3e0, 0x1f};
  if (header.bits == 32) header.masks = {0xff0000, 0xff00, 0xff};
  if (compression == with_masks)
    for (int i = 0; i < 3; ++i)
      header.masks[static_cast<std::size_t>(i)] = bytes.number(info_at + info_size + 4 * i, 4);
  return header;
}

BmpHeader bmp_header_of(const Bytes& bytes) {
  const std::uint32_t size = bytes.number(info_at, 4);
  require<DataError>(size == core_size || size >= info_size, "its header has ", size, " bytes");
  BmpHeader header = size == core_size ? core_header(bytes) : info_header(bytes, size);
  header.pixels_at = bytes.number(10, 4);
  const int bits = header.bits;
  require<DataError>(bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32,
                     "it has ", bits, " bits a pixel");
  return header;
}

// Entries that the file does not have are black.
std::array<Colour, 256> palette_of(const Bytes& bytes, const BmpHeader& header) {
  std::array<Colour, 256> palette{};
  if (header.bits > 8) return palette;
  const std::int64_t whole = std::int64_t{1} << header.bits;
  const std::int64_t stated = header.palette_size == 0 ? whole : header.palette_size;
  const std::int64_t room = (header.pixels_at - header.palette_at) / header.palette_entry;
  for (std::int64_t i = 0; i < std::min({stated, whole, room}); ++i)
    for (std::size_t channel = 0; channel < 3; ++channel)
      palette[static_cast<std::size_t>(i)][2 - channel] = bytes.byte(
          header.palette_at + i * header.palette_entry + static_cast<std::int64_t>(channel));
  return palette;
}

std::uint8_t part_of(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const std::uint64_t most = mask >> shift;
  return static_cast<std::uint8_t>(std::uint64_t{(pixel & mask) >> shift} * 255 / most);
}

Colour colour_at(const Bytes& bytes, const BmpHeader& header, std::int64_t row, std::int64_t x) {
  const std::int64_t at = row + x * header.bits / 8;
  if (header.bits == 24) return {bytes.byte(at + 2), bytes.byte(at + 1), bytes.byte(at)};
  const std::uint32_t pixel = bytes.number(at, header.bits / 8);
  return {part_of(pixel, header.masks[0]), part_of(pixel, header.masks[1]),
          part_of(pixel, header.masks[2])};
}

std::size_t index_at(const Bytes& bytes, int bits, std::int64_t row, std::int64_t x) {
  const int in_byte = static_cast<int>(x * bits % 8);  // the first pixel has the highest bits
  return (bytes.byte(row + x * bits / 8) >> (8 - bits - in_byte)) & ((1u << bits) - 1);
}

}  // namespace

Tensor decode_bmp(std::string_view content, std::int64_t most_pixels) {
  const Bytes bytes(content);
  const BmpHeader header = bmp_header_of(bytes);
  require_image_size(header.width, header.height, most_pixels);
  const std::int64_t last_row = header.row_stride() * (header.height - 1);
  require<DataError>(header.pixels_at + last_row + header.row_bytes() <= bytes.size(),
                     "the file ends too early");
  const std::array<Colour, 256> palette = palette_of(bytes, header);
  Tensor pixels(DType::u8, {header.height, header.width, 3});
  std::uint8_t* to = pixels.values<std::uint8_t>().data();
  for (std::int64_t y = 0; y < header.height; ++y) {
    const std::int64_t stored = header.bottom_first ? header.height - 1 - y : y;
    const std::int64_t row = header.pixels_at + stored * header.row_stride();
    for (std::int64_t x = 0; x < header.width; ++x) {
      const Colour colour = header.bits <= 8 ? palette[index_at(bytes, header.bits, row, x)]
                                             : colour_at(bytes, header, row, x);
      to = std::ranges::copy(colour, to).out;
    }
  }
  return pixels;
}

}  // namespace narrowgauge
