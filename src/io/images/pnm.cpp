// SPDX-License-Identifier: Apache-2.0
// Netpbm's formats P1 to P6: bits, greys and colours, as text and as bytes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/images/codecs.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  char take() {
    require<DataError>(!rest_.empty(), "the file ends too early");
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }
  // Goes behind blanks and comments, which go from '#' to the end of their line.
  void skip_blanks() {
    while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == '#'))
      if (take() == '#') rest_.remove_prefix(std::min(rest_.find_first_of("\r\n"), rest_.size()));
  }
  std::int64_t number(std::int64_t most) {
    skip_blanks();
    std::int64_t value = digit();
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = value * 10 + digit();
      require<DataError>(value <= most, "expected a number up to ", most);
    }
    return value;
  }
  std::int64_t digit() {
    const char c = take();
    require<DataError>(c >= '0' && c <= '9', "expected a number");
    return c - '0';
  }
  std::int64_t byte() { return static_cast<std::uint8_t>(take()); }
  std::int64_t size() const { return std::ssize(rest_); }

 private:
  std::string_view rest_;
};

struct PnmHeader {
  bool is_text = false, is_bits = false;
  std::int64_t width = 0, height = 0, channels = 1, most = 1;

  std::int64_t row_bytes() const {
    return is_bits ? (width + 7) / 8 : width * channels * (most > 255 ? 2 : 1);
  }
};

PnmHeader pnm_header_of(Cursor& cursor) {
  constexpr std::int64_t largest = 0x7fffffff;
  cursor.take();
  const char kind = cursor.take();
  PnmHeader header;
  header.is_text = kind <= '3';
  header.is_bits = kind == '1' || kind == '4';
  header.channels = kind == '3' || kind == '6' ? 3 : 1;
  header.width = cursor.number(largest);
  header.height = cursor.number(largest);
  if (!header.is_bits) header.most = cursor.number(65535);
  require<DataError>(header.most > 0, "its largest sample is 0");
  if (!header.is_text) require<DataError>(is_blank(cursor.take()), "expected a blank");
  return header;
}

std::uint8_t scaled(std::int64_t sample, std::int64_t most) {
  require<DataError>(sample <= most, "a sample is ", sample, ", the largest is to be ", most);
  if (most == 255) return static_cast<std::uint8_t>(sample);
  return static_cast<std::uint8_t>(
      std::nearbyint(static_cast<double>(sample) * 255 / static_cast<double>(most)));
}

// In P1 a digit needs no blank behind it, and 1 is black.
std::uint8_t text_sample(Cursor& cursor, const PnmHeader& header) {
  if (!header.is_bits) return scaled(cursor.number(65535), header.most);
  cursor.skip_blanks();
  return scaled(1 - std::min<std::int64_t>(cursor.digit(), 1), 1);
}

std::uint8_t byte_sample(Cursor& cursor, const PnmHeader& header) {
  const std::int64_t high = header.most > 255 ? cursor.byte() << 8 : 0;
  return scaled(high | cursor.byte(), header.most);
}

void read_bits(Cursor& cursor, std::int64_t width, std::uint8_t* row) {
  std::int64_t byte = 0;
  for (std::int64_t x = 0; x < width; ++x) {
    if (x % 8 == 0) byte = cursor.byte();
    row[x] = (byte >> (7 - x % 8)) & 1 ? 0 : 255;
  }
}

}  // namespace

Tensor decode_pnm(std::string_view bytes, std::int64_t most_pixels) {
  Cursor cursor(bytes);
  const PnmHeader header = pnm_header_of(cursor);
  require_image_size(header.width, header.height, most_pixels);
  const std::int64_t samples = header.width * header.height * header.channels;
  const std::int64_t needed = header.is_text ? samples : header.row_bytes() * header.height;
  require<DataError>(cursor.size() >= needed, "the file ends too early");
  Tensor pixels(DType::u8, {header.height, header.width, header.channels});
  std::uint8_t* const to = pixels.values<std::uint8_t>().data();
  if (header.is_bits && !header.is_text) {
    for (std::int64_t y = 0; y < header.height; ++y)
      read_bits(cursor, header.width, to + y * header.width);
    return pixels;
  }
  for (std::int64_t i = 0; i < samples; ++i)
    to[i] = header.is_text ? text_sample(cursor, header) : byte_sample(cursor, header);
  return pixels;
}

}  // namespace narrowgauge
