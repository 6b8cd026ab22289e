// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

// Where the chain of links at `path` ends, whether or not a file is there.
std::filesystem::path follow_links(std::filesystem::path path) {
  constexpr int most_links = 40;  // the kernel's own limit
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

// A name that no other file of this process or, while it lives, of another has.
std::string temporary_name(const std::filesystem::path& target) {
  static std::atomic<int> counter = 0;
  const std::string name =
      concat(".", target.filename().string(), ".", getpid(), ".", counter++, ".tmp");
  return (target.parent_path() / name).string();
}

// The permissions of the file that is replaced, or those of a new one.
void copy_permissions(const std::string& target, int file) {
  struct stat status {};
  if (stat(target.c_str(), &status) == 0) std::ignore = fchmod(file, status.st_mode & 07777);
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), target_(follow_links(path_).string()) {
  require<DataError>(!std::filesystem::path(target_).filename().empty(), "\"", path_,
                     "\": expected the name of a file to write");
  temporary_ = temporary_name(target_);
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) {
    temporary_.clear();
    fail("cannot be written");
  }
  copy_permissions(target_, file_);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  NG_INVARIANT(file_ >= 0);
  constexpr std::size_t most_at_once = std::size_t{1} << 30;  // the kernel stops at 2 GiB
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), std::min(bytes.size(), most_at_once));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::commit() {
  NG_INVARIANT(file_ >= 0);
  if (fsync(file_) != 0) fail("cannot be brought to disk");
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) fail("cannot be written");
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced");
  temporary_.clear();
  sync_folder();
}

void AtomicFile::fail(std::string_view what) const {
  const std::string reason = std::generic_category().message(errno);
  throw DataError(concat(path_, ": ", what, " (", reason, ")"));
}

// Without this the new name may be lost when the power fails. File systems that cannot say EINVAL.
void AtomicFile::sync_folder() const {
  const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
  const int opened =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;  // a folder may be writable and not readable
  const bool failed = fsync(opened) != 0 && errno != EINVAL && errno != EROFS;
  const int reason = errno;
  close(opened);
  errno = reason;
  if (failed) fail("the folder cannot be brought to disk");
}

void AtomicFile::discard() {
  if (file_ >= 0) close(file_);
  file_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace narrowgauge
