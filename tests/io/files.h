// SPDX-License-Identifier: Apache-2.0
// Files for tests: a folder that is removed again, whole contents in and out, gzip; and what
// memory it took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace narrowgauge::testing_files {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const;
  std::string operator/(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, const std::string& content);
std::string read_file(const std::string& path);
std::string gzip(const std::string& content);
std::int64_t most_memory();  // KiB that this process ever had

}  // namespace narrowgauge::testing_files
