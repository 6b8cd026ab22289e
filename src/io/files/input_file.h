// SPDX-License-Identifier: Apache-2.0
// Reading a file from its start, with errors that name it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace narrowgauge {

// Bytes in order: a plain file, or what a gzipped one unpacks to.
class InputFile {
 public:
  virtual ~InputFile() = default;
  // Fills `bytes` from the current place; fewer only at the end. Throws DataError.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  // The most bytes there can be: the size of a plain file, or what the best compression could have
  // packed into a gzipped one. Nothing larger need be allocated.
  virtual std::int64_t largest_size() const = 0;
  virtual bool is_packed() const = 0;
  const std::string& path() const { return path_; }

 protected:
  explicit InputFile(std::string path) : path_(std::move(path)) {}

 private:
  std::string path_;
};

// Opens a regular file. Throws DataError if there is none or it cannot be read.
std::unique_ptr<InputFile> open_file(const std::string& path);
// Opens a regular file and unpacks it if its first bytes say gzip, whatever its name.
std::unique_ptr<InputFile> open_maybe_gzip(const std::string& path);

// Bytes that somebody else keeps for as long as they are read, under a name for messages.
std::unique_ptr<InputFile> open_memory(std::span<const std::byte> bytes, const std::string& name);

}  // namespace narrowgauge
