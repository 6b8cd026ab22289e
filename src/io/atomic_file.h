// SPDX-License-Identifier: Apache-2.0
// Replacing a file as a whole: whatever happens, its path holds the old content or the new.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace narrowgauge {

// Writes to a temporary name in the same folder; commit() brings it to disk and gives it the name.
// Without commit() nothing remains. Errors are DataErrors naming the path, what was tried and the
// system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // a symbolic link stays, and its target is replaced
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();  // once, at the end

 private:
  void fail(std::string_view what) const;
  void sync_folder() const;
  void discard();

  std::string path_;       // as given, for messages
  std::string target_;     // with links followed
  std::string temporary_;  // empty when there is none
  int file_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace narrowgauge
