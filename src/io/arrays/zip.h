// SPDX-License-Identifier: Apache-2.0
// Zip archives as NumPy needs them: stored or deflated entries, zip64, checked sums (PKWARE's
// APPNOTE.TXT 6.3.10, whose section numbers zip_*.cpp cites). No encryption, no parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/atomic_file.h"
#include "base/files/descriptor.h"

namespace narrowgauge {

// What stands in place of a number of 32 or 16 bits that zip64 has elsewhere.
inline constexpr std::uint64_t wide32 = 0xFFFFFFFF, wide16 = 0xFFFF;

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0;  // bytes in the archive, and unpacked
  std::uint64_t offset = 0;            // of the local header
};

// A file that can be read at any place. Errors are DataErrors naming it.
class PlacedFile {
 public:
  explicit PlacedFile(std::string path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;  // all of them

 private:
  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

// The directory at the end of an archive. Every entry lies within the file and none overlaps
// another, so all of them together unpack to at most deflate's best ratio (1032) times the file.
class ZipReader {
 public:
  explicit ZipReader(std::string path);
  const std::string& path() const { return file_.path(); }
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;

  // The bytes of one entry in order; ends with a check of size and sum.
  class Stream {
   public:
    Stream(const ZipReader& zip, const ZipEntry& entry);
    ~Stream();
    std::size_t read(std::span<std::byte> bytes);  // fewer only at the end
    void finish();                                 // nothing may be left, and the sum must hold

   private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
  };

 private:
  void read_directory();
  void check_places();
  std::string who(const ZipEntry& entry) const;

  PlacedFile file_;
  std::vector<ZipEntry> entries_;
  std::uint64_t directory_ = 0;  // where it begins
};

// Writes entries one after another; finish() writes the directory. All have the time 1980-01-01, so
// that equal content gives equal bytes.
class ZipWriter {
 public:
  // Sizes, offsets and counts from these limits on are written as zip64.
  struct Limits {
    std::uint64_t bytes = 0xFFFFFFFF;
    std::uint64_t entries = 0xFFFF;
  };
  explicit ZipWriter(AtomicFile& file) : ZipWriter(file, Limits{}) {}
  ZipWriter(AtomicFile& file, Limits limits) : file_(file), limits_(limits) {}

  void add(const std::string& name, std::span<const std::span<const std::byte>> parts,
           bool deflated);
  void finish();

 private:
  void write(std::string_view text);
  std::string directory_record(const ZipEntry& entry) const;
  std::string end_records(std::uint64_t begin) const;

  AtomicFile& file_;
  Limits limits_;
  std::vector<ZipEntry> entries_;
  std::uint64_t offset_ = 0;
};

}  // namespace narrowgauge
