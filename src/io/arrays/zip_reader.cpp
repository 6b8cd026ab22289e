// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "base/files/open_file.h"
#include "io/arrays/zip.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t number(std::span<const std::byte> bytes, std::size_t place, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value |= std::to_integer<std::uint64_t>(bytes[place + i]) << (8 * i);
  return value;
}

constexpr std::uint64_t end_signature = 0x06054b50, end64_signature = 0x06064b50;
constexpr std::uint64_t locator_signature = 0x07064b50;
constexpr std::uint64_t record_signature = 0x02014b50, local_signature = 0x04034b50;
constexpr std::size_t end_bytes = 22, locator_bytes = 20, end64_bytes = 56;
constexpr std::size_t record_bytes = 46, local_bytes = 30;
// Deflate's shortest code packs 258 bytes into two bits.
constexpr std::uint64_t best_ratio = 1032;

struct Directory {
  std::uint64_t entries = 0, bytes = 0, offset = 0;
};

Directory read_end64(const PlacedFile& file, std::uint64_t end_place) {
  const auto check = [&](bool condition, const char* what) {
    require<DataError>(condition, file.path(), ": ", what);
  };
  check(end_place >= locator_bytes, "its zip64 directory cannot be found");
  std::array<std::byte, locator_bytes> locator{};
  file.read(end_place - locator_bytes, locator);
  check(number(locator, 0, 4) == locator_signature, "its zip64 directory cannot be found");
  const std::uint64_t place = number(locator, 8, 8);
  check(place <= end_place && end_place - place >= end64_bytes,
        "its zip64 directory lies outside of the file");
  std::array<std::byte, end64_bytes> end{};
  file.read(place, end);
  check(number(end, 0, 4) == end64_signature, "its zip64 directory cannot be found");
  return {number(end, 32, 8), number(end, 40, 8), number(end, 48, 8)};
}

// 4.3.16: finds the record at the end, after which a comment of up to 65535 bytes may follow.
std::uint64_t find_end(const PlacedFile& file, Bytes& tail) {
  const std::uint64_t most = std::min<std::uint64_t>(file.size(), end_bytes + wide16);
  tail.resize(most);
  const std::uint64_t begin = file.size() - most;
  file.read(begin, tail);
  for (std::size_t place = most - std::min<std::size_t>(most, end_bytes) + 1; place-- > 0;) {
    if (place + end_bytes > most || number(tail, place, 4) != end_signature) continue;
    if (place + end_bytes + number(tail, place + 20, 2) != most) continue;
    tail.erase(tail.begin(), tail.begin() + static_cast<std::ptrdiff_t>(place));
    return begin + place;
  }
  throw DataError(concat(file.path(), ": is not a zip archive, or its end is missing"));
}

Directory find_directory(const PlacedFile& file) {
  Bytes tail;
  const std::uint64_t end_place = find_end(file, tail);
  require<DataError>(number(tail, 4, 2) == 0 || number(tail, 4, 2) == wide16, file.path(),
                     ": is one part of several, expected a whole archive");
  Directory directory{number(tail, 10, 2), number(tail, 12, 4), number(tail, 16, 4)};
  if (directory.entries == wide16 || directory.bytes == wide32 || directory.offset == wide32)
    directory = read_end64(file, end_place);
  const bool inside = directory.offset <= end_place &&
                      directory.bytes <= end_place - directory.offset &&
                      directory.entries <= directory.bytes / record_bytes;
  require<DataError>(inside, file.path(), ": its directory lies outside of the file");
  return directory;
}

// 4.5.3: reads those of size, packed size and offset that do not fit 32 bits, in this order.
void read_wide(std::span<const std::byte> extra, ZipEntry& entry) {
  for (std::size_t place = 0; place + 4 <= extra.size();) {
    const std::uint64_t id = number(extra, place, 2), length = number(extra, place + 2, 2);
    place += 4;
    if (length > extra.size() - place) return;
    if (id == 1) {
      const std::span<const std::byte> wide = extra.subspan(place, length);
      std::size_t at = 0;
      for (std::uint64_t* value : {&entry.size, &entry.packed, &entry.offset}) {
        if (*value != wide32 || at + 8 > wide.size()) continue;
        *value = number(wide, at, 8);
        at += 8;
      }
      return;
    }
    place += length;
  }
}

}  // namespace

PlacedFile::PlacedFile(std::string path) : path_(std::move(path)), file_(open_regular_file(path_)) {
  struct stat status {};
  NG_INVARIANT(fstat(file_.get(), &status) == 0);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void PlacedFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  require<DataError>(offset <= size_ && bytes.size() <= size_ - offset, path_,
                     ": ends before byte ", size_ - offset < bytes.size() ? size_ : offset);
  while (!bytes.empty()) {
    constexpr std::size_t most = std::size_t{1} << 30;
    const ssize_t got =
        pread(file_.get(), bytes.data(), std::min(bytes.size(), most), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    const int error = errno;
    require<DataError>(got >= 0, path_, ": ", std::strerror(error));
    require<DataError>(got > 0, path_, ": became shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

ZipReader::ZipReader(std::string path) : file_(std::move(path)) {
  read_directory();
  check_places();
}

void ZipReader::read_directory() {
  const Directory directory = find_directory(file_);
  directory_ = directory.offset;
  Bytes bytes(directory.bytes);
  file_.read(directory.offset, bytes);
  std::size_t place = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const bool fits = place + record_bytes <= bytes.size();
    require<DataError>(fits && number(bytes, place, 4) == record_signature, path(),
                       ": its directory is damaged at entry ", i);
    const auto record = std::span<const std::byte>(bytes).subspan(place);
    const std::size_t name = number(record, 28, 2), extra = number(record, 30, 2);
    const std::size_t whole = record_bytes + name + extra + number(record, 32, 2);
    require<DataError>(whole <= record.size(), path(), ": its directory is damaged at entry ", i);
    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char*>(record.data()) + record_bytes, name);
    entry.crc = static_cast<std::uint32_t>(number(record, 16, 4));
    entry.packed = number(record, 20, 4);
    entry.size = number(record, 24, 4);
    entry.offset = number(record, 42, 4);
    read_wide(record.subspan(record_bytes + name, extra), entry);
    const std::uint64_t method = number(record, 10, 2);
    require<DataError>((number(record, 8, 2) & 1) == 0, who(entry), "is encrypted");
    require<DataError>(method == 0 || method == 8, who(entry),
                       "expected it stored or deflated, found method ", method);
    entry.deflated = method == 8;
    entries_.push_back(std::move(entry));
    place += whole;
  }
}

void ZipReader::check_places() {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& entry : entries_) order.push_back(&entry);
  std::ranges::sort(order, {}, &ZipEntry::offset);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ZipEntry& entry = *order[i];
    const std::uint64_t end = i + 1 < order.size() ? order[i + 1]->offset : directory_;
    const bool inside = entry.offset <= end && entry.packed <= end - entry.offset &&
                        local_bytes <= end - entry.offset - entry.packed;
    require<DataError>(inside, who(entry), "does not lie in a place of its own");
    const bool possible =
        entry.deflated ? entry.size / best_ratio <= entry.packed : entry.size == entry.packed;
    require<DataError>(possible, who(entry), "cannot be ", entry.size, " bytes, packed into ",
                       entry.packed);
  }
}

std::string ZipReader::who(const ZipEntry& entry) const {
  std::string name = entry.name;
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return concat(path(), ": entry ", name, ": ");
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &ZipEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

struct ZipReader::Stream::Implementation {
  Implementation(const ZipReader& zip, const ZipEntry& of)
      : file(zip.file_), entry(of), who(zip.who(of)) {
    std::array<std::byte, local_bytes> local{};
    file.read(entry.offset, local);
    require<DataError>(number(local, 0, 4) == local_signature, who, "its header is damaged");
    place = entry.offset + local_bytes + number(local, 26, 2) + number(local, 28, 2);
    require<DataError>(place <= file.size() && entry.packed <= file.size() - place, who,
                       "goes on behind the end of the file");
    if (entry.deflated) {
      input.resize(std::size_t{1} << 16);
      const int result = inflateInit2(&stream, -MAX_WBITS);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      NG_INVARIANT(result == Z_OK);
    }
  }
  ~Implementation() {
    if (entry.deflated) inflateEnd(&stream);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  std::size_t stored(std::span<std::byte> bytes) {
    const auto count = std::min<std::uint64_t>(bytes.size(), entry.packed - taken);
    file.read(place + taken, bytes.first(count));
    taken += count;
    return count;
  }

  std::size_t unpack(std::span<std::byte> bytes) {
    if (stream.avail_in == 0 && taken < entry.packed) {
      const auto count = std::min<std::uint64_t>(input.size(), entry.packed - taken);
      file.read(place + taken, std::span(input).first(count));
      taken += count;
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    const std::size_t room = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    ended = result == Z_STREAM_END;
    require<DataError>(ended || result == Z_OK, who, "its deflated data is ",
                       result == Z_BUF_ERROR ? "truncated" : "damaged");
    return room - stream.avail_out;
  }

  std::size_t read(std::span<std::byte> bytes) {
    std::size_t done = 0;
    if (!entry.deflated) done = stored(bytes);
    while (entry.deflated && done < bytes.size() && !ended) done += unpack(bytes.subspan(done));
    for (std::size_t i = 0; i < done;) {
      const std::size_t count = std::min<std::size_t>(done - i, std::size_t{1} << 30);
      const auto* const begin = reinterpret_cast<const Bytef*>(bytes.data() + i);
      crc = crc32(crc, begin, static_cast<uInt>(count));
      i += count;
    }
    given += done;
    return done;
  }

  const PlacedFile& file;
  const ZipEntry& entry;
  std::string who;
  std::uint64_t place = 0, taken = 0, given = 0;
  uLong crc = 0;
  bool ended = false;
  Bytes input;
  z_stream stream{};
};

ZipReader::Stream::Stream(const ZipReader& zip, const ZipEntry& entry)
    : implementation_(std::make_unique<Implementation>(zip, entry)) {}
ZipReader::Stream::~Stream() = default;

std::size_t ZipReader::Stream::read(std::span<std::byte> bytes) {
  return implementation_->read(bytes);
}

void ZipReader::Stream::finish() {
  Implementation& it = *implementation_;
  std::byte more{};
  const bool whole = it.read({&more, 1}) == 0 && it.taken == it.entry.packed;
  require<DataError>(whole && it.stream.avail_in == 0, it.who, "goes on after its array");
  require<DataError>(it.given == it.entry.size, it.who, "expected ", it.entry.size,
                     " bytes, found ", it.given);
  require<DataError>(it.crc == it.entry.crc, it.who, "is damaged: its CRC-32 does not fit");
}

}  // namespace narrowgauge
