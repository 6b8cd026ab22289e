// SPDX-License-Identifier: Apache-2.0
#include "base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t most_text = std::size_t{1} << 28;

class Descriptor {
 public:
  // Without O_NONBLOCK, opening a pipe waits for somebody to write.
  explicit Descriptor(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    const int error = errno;
    require<DataError>(file_ >= 0, path, ": ", std::strerror(error));
  }
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }
  mode_t kind() const {
    struct stat status {};
    return fstat(file_, &status) == 0 ? status.st_mode & S_IFMT : 0;
  }
  void wait_for_bytes() const { fcntl(file_, F_SETFL, fcntl(file_, F_GETFL) & ~O_NONBLOCK); }

 private:
  int file_;
};

void require_kind(bool right, mode_t kind, const std::string& path) {
  require<DataError>(right, path, ": expected a file, found ",
                     S_ISDIR(kind) ? "a folder" : "a device or pipe");
}

}  // namespace

int open_regular_file(const std::string& path) {
  Descriptor file(path);
  require_kind(S_ISREG(file.kind()), file.kind(), path);
  file.wait_for_bytes();
  return file.release();
}

std::string read_text_file(const std::string& path) {
  const Descriptor file(path);
  const mode_t kind = file.kind();
  require_kind(S_ISREG(kind) || S_ISFIFO(kind) || S_ISCHR(kind), kind, path);
  file.wait_for_bytes();
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
