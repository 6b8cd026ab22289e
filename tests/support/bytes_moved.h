// SPDX-License-Identifier: Apache-2.0
// Bytes that this process reads and writes by calls of the system, whatever the file.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace narrowgauge::testing_support {

struct BytesMoved {
  std::int64_t read = 0, written = 0;
};

// The bytes moved since the process began; what it takes to ask is counted by the next call.
inline BytesMoved bytes_moved() {
  std::ifstream file("/proc/self/io");
  BytesMoved bytes;
  std::string name;
  file >> name >> bytes.read >> name >> bytes.written;
  return bytes;
}

// The bytes moved by a piece of work.
template <class Work>
BytesMoved bytes_moved_by(const Work& work) {
  const BytesMoved first = bytes_moved(), second = bytes_moved();
  work();
  const BytesMoved third = bytes_moved();
  const std::int64_t to_ask = second.read - first.read;
  return {third.read - second.read - to_ask, third.written - second.written};
}

}  // namespace narrowgauge::testing_support
