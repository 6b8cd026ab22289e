// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "io/arrays/zip.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t at_once = std::size_t{1} << 30;  // zlib counts in 32 bits

// A record of little-endian numbers, one after another.
class Record {
 public:
  Record& add(int bytes, std::uint64_t value) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 255);
    return *this;
  }
  Record& add(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr std::uint64_t day = 1 << 5 | 1;  // 1980-01-01 (4.4.6: years from 1980, month, day)
constexpr std::uint64_t utf8_names = 1 << 11;
constexpr std::uint64_t plain_version = 20, wide_version = 45;

std::uint32_t sum_of(std::span<const std::span<const std::byte>> parts) {
  uLong sum = 0;
  for (std::span<const std::byte> part : parts)
    for (; !part.empty(); part = part.subspan(std::min(part.size(), at_once)))
      sum = crc32(sum, reinterpret_cast<const Bytef*>(part.data()),
                  static_cast<uInt>(std::min(part.size(), at_once)));
  return static_cast<std::uint32_t>(sum);
}

std::string deflate_all(std::span<const std::span<const std::byte>> parts) {
  z_stream stream{};
  constexpr int usual_memory = 8;
  const int begun = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS,
                                 usual_memory, Z_DEFAULT_STRATEGY);
  if (begun == Z_MEM_ERROR) throw std::bad_alloc();
  NG_INVARIANT(begun == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, deflateEnd);
  std::string packed;
  std::vector<char> buffer(std::size_t{1} << 18);
  const auto step = [&](int flush) {
    int result = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      result = deflate(&stream, flush);
      packed.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0 || (flush == Z_FINISH && result != Z_STREAM_END));
  };
  for (std::span<const std::byte> part : parts)
    for (; !part.empty(); part = part.subspan(std::min(part.size(), at_once))) {
      // zlib's interface lacks const; the input is not changed.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
      stream.avail_in = static_cast<uInt>(std::min(part.size(), at_once));
      step(Z_NO_FLUSH);
    }
  step(Z_FINISH);
  return packed;
}

}  // namespace

void ZipWriter::write(std::string_view text) {
  file_.write(text);
  offset_ += text.size();
}

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts,
                    bool deflated) {
  require(name.size() <= wide16, "zip: \"", name.substr(0, 40), "...\" is too long for a name");
  ZipEntry entry{.name = name, .deflated = deflated, .crc = sum_of(parts), .offset = offset_};
  for (const std::span<const std::byte> part : parts) entry.size += part.size();
  const std::string packed = deflated ? deflate_all(parts) : "";
  entry.packed = deflated ? packed.size() : entry.size;
  const bool wide = std::max(entry.size, entry.packed) >= limits_.bytes;
  Record local;
  local.add(4, 0x04034b50).add(2, wide ? wide_version : plain_version).add(2, utf8_names);
  local.add(2, deflated ? 8 : 0).add(2, 0).add(2, day).add(4, entry.crc);
  local.add(4, wide ? wide32 : entry.packed).add(4, wide ? wide32 : entry.size);
  local.add(2, name.size()).add(2, wide ? 20 : 0).add(name);
  if (wide) local.add(2, 1).add(2, 16).add(8, entry.size).add(8, entry.packed);
  write(local.text());
  if (deflated) {
    write(packed);
  } else {
    for (const std::span<const std::byte> part : parts) file_.write(part);
    offset_ += entry.size;
  }
  entries_.push_back(std::move(entry));
}

std::string ZipWriter::directory_record(const ZipEntry& entry) const {
  Record wide;
  const auto narrow = [&](std::uint64_t value) {
    if (value < limits_.bytes) return value;
    wide.add(8, value);
    return wide32;
  };
  const std::uint64_t size = narrow(entry.size), packed = narrow(entry.packed);
  const std::uint64_t offset = narrow(entry.offset);
  const std::size_t extra = wide.text().empty() ? 0 : 4 + wide.text().size();
  const std::uint64_t version = extra ? wide_version : plain_version;
  constexpr std::uint64_t unix_system = 3 << 8, readable = std::uint64_t{0100644} << 16;
  Record record;
  record.add(4, 0x02014b50).add(2, unix_system | version).add(2, version).add(2, utf8_names);
  record.add(2, entry.deflated ? 8 : 0).add(2, 0).add(2, day).add(4, entry.crc);
  record.add(4, packed).add(4, size).add(2, entry.name.size()).add(2, extra).add(2, 0);
  record.add(2, 0).add(2, 0).add(4, readable).add(4, offset).add(entry.name);
  if (extra) record.add(2, 1).add(2, wide.text().size()).add(wide.text());
  return record.text();
}

std::string ZipWriter::end_records(std::uint64_t begin) const {
  const std::uint64_t bytes = offset_ - begin, count = entries_.size();
  const bool wide = count >= limits_.entries || bytes >= limits_.bytes || begin >= limits_.bytes;
  Record end;
  if (wide) {
    end.add(4, 0x06064b50).add(8, 44).add(2, wide_version).add(2, wide_version).add(4, 0);
    end.add(4, 0).add(8, count).add(8, count).add(8, bytes).add(8, begin);
    end.add(4, 0x07064b50).add(4, 0).add(8, offset_).add(4, 1);
  }
  end.add(4, 0x06054b50).add(2, 0).add(2, 0).add(2, wide ? wide16 : count);
  end.add(2, wide ? wide16 : count).add(4, wide ? wide32 : bytes).add(4, wide ? wide32 : begin);
  return end.add(2, 0).text();
}

void ZipWriter::finish() {
  const std::uint64_t begin = offset_;
  for (const ZipEntry& entry : entries_) write(directory_record(entry));
  write(end_records(begin));
}

}  // namespace narrowgauge
