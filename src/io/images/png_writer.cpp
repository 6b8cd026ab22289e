// SPDX-License-Identifier: Apache-2.0
#include "io/images/png_writer.h"

#include <zlib.h>

#include <cstdint>
#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

const Bytef* bytes_of(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

// The length counts the data, the checksum covers kind and data.
std::string chunk(const char* kind, const std::string& data) {
  const std::string covered = kind + data;
  const uLong sum = crc32(0, bytes_of(covered), static_cast<uInt>(covered.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + covered +
         big_endian(static_cast<std::uint32_t>(sum));
}

std::string compressed(const std::string& data) {
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::string packed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(packed.data()), &size, bytes_of(data),
                             static_cast<uLong>(data.size()), Z_BEST_COMPRESSION);
  NG_INVARIANT(code == Z_OK);
  packed.resize(size);
  return packed;
}

}  // namespace

std::string encode_png(const Tensor& pixels) {
  const Dims& dims = pixels.dims();
  const bool fits = pixels.dtype() == DType::u8 && dims.size() == 3 && pixels.size() > 0 &&
                    (dims[2] == 1 || dims[2] == 3) && pixels.size() < (std::int64_t{1} << 28);
  require(fits, "png: expected u8 [H,W,1] or [H,W,3], got ", pixels.type());
  const auto row = static_cast<std::size_t>(dims[1] * dims[2]);
  const auto* values = reinterpret_cast<const char*>(pixels.data());
  std::string lines;
  for (std::int64_t y = 0; y < dims[0]; ++y) {
    lines += '\0';  // no filter
    lines.append(values + static_cast<std::size_t>(y) * row, row);
  }
  std::string header = big_endian(static_cast<std::uint32_t>(dims[1])) +
                       big_endian(static_cast<std::uint32_t>(dims[0]));
  header += '\x08';                          // bits of a sample
  header += dims[2] == 1 ? '\x00' : '\x02';  // grey or RGB
  header += std::string(3, '\0');            // deflate, filters by line, not interlaced
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", compressed(lines)) +
         chunk("IEND", "");
}

}  // namespace narrowgauge
