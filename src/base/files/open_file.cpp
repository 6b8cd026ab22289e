// SPDX-License-Identifier: Apache-2.0
#include "base/files/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t most_text = std::size_t{1} << 28;

// Without O_NONBLOCK, opening a pipe waits for somebody to write.
Descriptor opened(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int error = errno;
  require<DataError>(file.get() >= 0, path, ": ", std::strerror(error));
  return file;
}

mode_t mode_of(const Descriptor& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

void wait_for_bytes(const Descriptor& file) {
  fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
}

void require_kind(bool right, mode_t kind, const std::string& path) {
  require<DataError>(right, path, ": expected a file, found ",
                     S_ISDIR(kind) ? "a folder" : "a device or pipe");
}

}  // namespace

Descriptor open_regular_file(const std::string& path) {
  Descriptor file = opened(path);
  require_kind(S_ISREG(mode_of(file)), mode_of(file), path);
  wait_for_bytes(file);
  return file;
}

std::string read_text_file(const std::string& path) {
  const Descriptor file = opened(path);
  const mode_t kind = mode_of(file);
  require_kind(S_ISREG(kind) || S_ISFIFO(kind) || S_ISCHR(kind), kind, path);
  wait_for_bytes(file);
  std::string text;
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    const int error = errno;
    if (got < 0 && error == EINTR) continue;
    require<DataError>(got >= 0, path, ": ", std::strerror(error));
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    require<DataError>(text.size() <= most_text, path, ": expected a text of at most ", most_text,
                       " bytes, it goes on");
  }
}

}  // namespace narrowgauge
