// SPDX-License-Identifier: Apache-2.0
#include "base/files/atomic_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "base/files/atomic_folder.h"
#include "base/files/output_path.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  return S_ISBLK(mode) ? "a block device" : "a socket";
}

// Copies the owner and permissions of the replaced file, as far as this process may.
void copy_permissions(const struct stat& existing, int file) {
  constexpr mode_t permissions = 0777;
  std::ignore = fchown(file, existing.st_uid, existing.st_gid);
  std::ignore = fchmod(file, existing.st_mode & permissions);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  require<DataError>(!std::filesystem::path(path_).filename().empty(), "\"", path_,
                     "\": expected the name of a file to write");
  const auto place = follow_output_path(path_);
  if (!place) fail("cannot be written");
  target_ = place->target;
  if (place->descriptor >= 0 || (place->existing && !S_ISREG(place->existing->st_mode))) {
    const mode_t mode = place->existing ? place->existing->st_mode : mode_t{S_IFIFO};
    require<DataError>(place->descriptor >= 0 || S_ISFIFO(mode) || S_ISCHR(mode), path_,
                       ": expected a file, found ", kind_of(mode));
    file_ = place->descriptor >= 0 ? fcntl(place->descriptor, F_DUPFD_CLOEXEC, 0)
                                   : open(target_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file_ < 0) fail("cannot be written");
    return;
  }
  open_new(temporary_path(target_));
  if (place->existing) copy_permissions(*place->existing, file_);
}

AtomicFile::AtomicFile(AtomicFolder& folder, std::string name)
    : path_((std::filesystem::path(folder.path()) / name).string()), folder_(&folder) {
  target_ = (std::filesystem::path(folder.temporary()) / name).string();
  open_new(target_);
}

// Nothing fails once the file is there: a constructor that throws removes none.
void AtomicFile::open_new(std::string path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be written");
  temporary_ = std::move(path);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  NG_INVARIANT(file_ >= 0);
  constexpr std::size_t most_at_once = std::size_t{1} << 30;  // the kernel stops at 2 GiB
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), std::min(bytes.size(), most_at_once));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written", bytes.size());
    if (folder_) sum_.update(bytes.first(static_cast<std::size_t>(done)));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    written_ += static_cast<std::uint64_t>(done);
  }
}

void AtomicFile::commit() {
  NG_INVARIANT(file_ >= 0);
  const bool regular = !temporary_.empty();  // only regular files have a disk to be brought to
  if (regular && fsync(file_) != 0) fail("cannot be brought to disk");
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) fail("cannot be written");
  if (folder_) {
    folder_->add({std::filesystem::path(path_).filename().string(), written_, sum_.hex()});
  } else if (regular) {
    // No memory is wanted once the file has its name.
    const std::string parent = std::filesystem::path(target_).parent_path().string();
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced");
    temporary_.clear();
    sync_folder(parent);
  }
  temporary_.clear();
}

void AtomicFile::fail(std::string_view what, std::size_t wanted) const {
  throw DataError(concat(path_, ": ", what, " (", reason_text(errno, wanted), ")"));
}

std::string AtomicFile::reason_text(int reason, std::size_t wanted) const {
  const std::string text = std::generic_category().message(reason);
  const std::uint64_t needed = std::max<std::uint64_t>(announced_, written_ + wanted);
  if (reason == EFBIG) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return text;
    return concat(text, ": needs ", needed, " bytes, the limit is ", limit.rlim_cur);
  }
  if (temporary_.empty()) return text;  // a pipe or device has no disk that could be full
  struct statvfs disk {};
  if ((reason != ENOSPC && reason != EDQUOT) || fstatvfs(file_, &disk) != 0) return text;
  // The partial file will be removed, which frees its bytes again.
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize + written_;
  return concat(text, ": needs ", needed, " bytes, ", free, " are free");
}

void AtomicFile::discard() {
  if (file_ >= 0) close(file_);
  file_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.announce(content.size());
  file.write(content);
  file.commit();
}

}  // namespace narrowgauge
