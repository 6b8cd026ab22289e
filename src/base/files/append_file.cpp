// SPDX-License-Identifier: Apache-2.0
#include "base/files/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "narrowgauge/error.h"

namespace narrowgauge {

AppendFile::AppendFile(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_.get() < 0 || lseek(file_.get(), 0, SEEK_END) < 0) fail("cannot be opened for writing");
}

void AppendFile::append(std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t written = write(file_.get(), piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AppendFile::fail(std::string_view what) const {
  throw DataError(concat(path_, ": ", what, ": ", std::strerror(errno)));
}

}  // namespace narrowgauge
