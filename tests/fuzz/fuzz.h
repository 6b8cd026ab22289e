// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: each gives bytes to one reader, which may refuse them with one of
// the errors that name a cause. An InternalError or any other exception ends the target.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A folder of this process in memory, where the system has one; the target's files go there.
inline const std::string& folder() {
  static const std::string path = [] {
    std::error_code error;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", error);
    std::string name = in_memory ? "/dev/shm/narrowgauge_fuzz_XXXXXX" : "narrowgauge_fuzz_XXXXXX";
    if (!mkdtemp(name.data())) std::abort();
    static const std::string made = name;
    std::atexit([] { std::filesystem::remove_all(made); });
    return name;
  }();
  return path;
}

inline std::string write(const std::string& name, std::string_view content) {
  std::string path = folder() + '/' + name;
  std::ofstream(path, std::ios::binary).write(content.data(), std::ssize(content));
  return path;
}

// Whether the reader took the input.
template <class Read>
bool take(Read&& read) {
  try {
    read();
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

inline void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace narrowgauge::fuzz
