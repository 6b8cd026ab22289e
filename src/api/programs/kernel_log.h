// SPDX-License-Identifier: Apache-2.0
// Records of kernels as a file that grows: a line for each, with its checksum. Any number of
// processes append to one file without a lock; what a crash or a full disk cut costs that line.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compile/kernel_memory.h"

namespace narrowgauge {

// "CHECKSUM MACHINE\tKEY\tKERNEL\tWHY\n", where a checksum and the hash of the machine's text are
// 16 hexadecimal digits. Of two lines of one key the later counts.
std::string kernel_log_line(std::string_view machine, std::string_view key,
                            const KernelRecord& record);

// One such file as one machine sees it; lines of others stay in it. Not thread-safe.
class KernelLog {
 public:
  // Beyond this size the newer half stays.
  static constexpr std::int64_t usual_most_bytes = std::int64_t{16} << 20;
  KernelLog(std::string path, std::string machine, std::int64_t most_bytes = usual_most_bytes);

  // Reads what was added since the last time, by anybody. Throws DataError for what is no file or
  // cannot be read, and the first time for a file without any record.
  void refresh();
  std::optional<KernelRecord> find(std::string_view key) const;
  // Adds lines to the file, in one write, and makes it, with its folder, where it is missing.
  // Throws DataError.
  void append(std::string_view lines);
  // Puts these lines in the place of whatever the file has. Throws DataError.
  void replace(std::string_view lines);
  const std::string& path() const { return path_; }
  std::size_t size() const { return records_.size(); }  // of records of this machine

 private:
  void forget();
  void take(std::string text);
  bool add(std::string_view line);
  void shorten();

  std::string path_, machine_;
  std::int64_t most_bytes_;
  dev_t device_ = 0;  // of the file that was read, with its number and how far it was read
  ino_t number_ = 0;
  std::int64_t read_ = 0;
  std::string begins_{};             // the checksum of its first line
  std::deque<std::string> texts_{};  // that were read, which the rest is views of
  std::unordered_map<std::string_view, std::string_view> records_{};  // "KERNEL\tWHY" by key
};

}  // namespace narrowgauge
