// SPDX-License-Identifier: Apache-2.0
// The one way in which files are written. A file is replaced as a whole: whatever happens, its path
// holds the old content or the new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/hash/sha256.h"

namespace narrowgauge {

class AtomicFolder;

// Writes to a temporary name in the same folder, which nobody can guess; commit() brings the file
// to disk and gives it its name. Without commit() nothing remains. Permissions are those of the
// replaced file, or what the umask leaves. A symbolic link stays, and the file it leads to is
// replaced. A pipe, a character device or an open descriptor (/dev/stdout) is written directly and
// stays what it is. Errors are DataErrors naming the path, what was tried and the system's reason;
// for a full disk also the bytes needed and free.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  // Writes in a folder that is made as a whole, under its own name from the start. commit() adds
  // the file and its digest to the folder's files().
  AtomicFile(AtomicFolder& folder, std::string name);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Says how much will be written in all; the error of a full disk reports it.
  void announce(std::uint64_t bytes) { announced_ = bytes; }
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();  // once, at the end

 private:
  [[noreturn]] void fail(std::string_view what, std::size_t wanted = 0) const;
  std::string reason_text(int reason, std::size_t wanted) const;
  void open_new(std::string path);
  void discard();

  std::string path_;       // as given, for messages
  std::string target_;     // with links followed
  std::string temporary_;  // what goes away without commit(); empty when there is none
  AtomicFolder* folder_ = nullptr;
  Sha256 sum_;  // for folder_
  int file_ = -1;
  std::uint64_t written_ = 0, announced_ = 0;
};

void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace narrowgauge
