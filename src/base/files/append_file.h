// SPDX-License-Identifier: Apache-2.0
// A file that grows while others read it. Each append() is one write of the system, so that
// whenever the process ends, the file holds whole pieces up to the last; only a full disk cuts one.
#pragma once

#include <string>
#include <string_view>

#include "base/files/descriptor.h"

namespace narrowgauge {

class AppendFile {
 public:
  explicit AppendFile(std::string path);  // made if it is not there; throws DataError

  void append(std::string_view piece);  // throws DataError naming the path and the system's reason
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  Descriptor file_;
};

}  // namespace narrowgauge
