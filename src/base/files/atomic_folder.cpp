// SPDX-License-Identifier: Apache-2.0
#include "base/files/atomic_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/files/descriptor.h"
#include "base/files/folder_content.h"
#include "base/files/output_path.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  const std::string reason = std::generic_category().message(errno);
  throw DataError(concat(path, ": ", what, " (", reason, ")"));
}

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

// `wanted` is the whole path, for messages.
void make_folders(const std::string& path, const std::string& wanted) {
  struct stat status {};
  if (path.empty() || (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))) return;
  make_folders(parent_of(path), wanted);
  if (mkdir(path.c_str(), 0777) == 0) return sync_folder(parent_of(path));
  const int reason = errno;
  if (reason == EEXIST && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
  errno = reason == EEXIST ? ENOTDIR : reason;
  fail(wanted, "cannot be made");
}

}  // namespace

AtomicFolder::AtomicFolder(std::string path)
    : path_(std::move(path)), temporary_(temporary_path(path_)) {
  if (mkdir(temporary_.c_str(), 0777) == 0) return;
  temporary_.clear();
  fail(path_, "cannot be made");
}

// Takes no memory, which may be what there is no more of.
AtomicFolder::~AtomicFolder() {
  if (temporary_.empty()) return;
  const Descriptor folder(open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const File& file : files_) unlinkat(folder.get(), file.name.c_str(), 0);
  rmdir(temporary_.c_str());
}

void AtomicFolder::commit() {
  sync_folder(temporary_);
  const std::string parent = parent_of(path_);  // no memory is wanted once the folder is there
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be made");
  temporary_.clear();
  sync_folder(parent);
}

// Without this a power failure may lose a new name. File systems that cannot do it return EINVAL.
void sync_folder(const std::string& path) {
  const char* const folder = path.empty() ? "." : path.c_str();
  const int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;  // a folder may be writable but not readable
  const bool failed = fsync(opened) != 0 && errno != EINVAL && errno != EROFS;
  const int reason = errno;
  close(opened);
  errno = reason;
  if (failed) fail(folder, "the folder cannot be brought to disk");
}

void make_folders(const std::string& path) { make_folders(path, path); }

void remove_folder(const std::string& path) {
  const std::string doomed = temporary_path(path);
  if (std::rename(path.c_str(), doomed.c_str()) == 0) remove_all(doomed);
}

void replace_by_link(const std::string& path, const std::string& to) {
  const std::string temporary = temporary_path(path);
  if (symlink(to.c_str(), temporary.c_str()) != 0) fail(path, "cannot be made a link");
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const int reason = errno;
  unlink(temporary.c_str());
  errno = reason;
  fail(path, "cannot be made a link");
}

}  // namespace narrowgauge
