// SPDX-License-Identifier: Apache-2.0
// Loaded ahead of libc (LD_PRELOAD): counts the calls that change files below a folder, writes them
// down, ends the process at one of them, or lets the disk be full from one on.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <string>

#include "disk/disk_log.h"

namespace {

using namespace narrowgauge::testing_disk;

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(name) next(&name, #name)

constexpr int most_files = 4096;
std::atomic<bool> watched[most_files];  // by descriptor
std::atomic<long> calls = 0;
std::mutex mutex;

long number(const char* variable) {
  const char* text = getenv(variable);
  return text ? atol(text) : 0;
}

const std::string& root() {
  static const std::string path = getenv(root_variable) ? getenv(root_variable) : "";
  return path;
}

bool is_watched(int file) { return file >= 0 && file < most_files && watched[file]; }

bool is_below(int folder, const char* path) {
  if (root().empty()) return false;
  if (path[0] != '/' && folder != AT_FDCWD) return is_watched(folder);
  return strncmp(path, root().c_str(), root().size()) == 0;
}

void put(int file, const void* bytes, size_t size) {
  for (const char* at = static_cast<const char*>(bytes); size > 0;) {
    const long done = syscall(SYS_write, file, at, size);
    if (done <= 0) _exit(99);
    at += done;
    size -= static_cast<size_t>(done);
  }
}

void note(Call call, std::uint64_t a, std::uint64_t b, const std::string& first = "",
          const std::string& second = "") {
  static const int log = static_cast<int>(
      getenv(log_variable) ? syscall(SYS_open, getenv(log_variable), O_WRONLY | O_APPEND, 0) : -1);
  if (log < 0) return;
  const std::lock_guard lock(mutex);
  const LogHeader header{call, static_cast<std::uint32_t>(first.size()),
                         static_cast<std::uint32_t>(second.size()), a, b};
  const std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  const std::string record = text + first + second;
  put(log, record.data(), record.size());
}

// Counts; false where the call is to fail for want of room.
bool goes_on(bool needs_room) {
  static const long end = number(end_variable), full = number(full_variable);
  const long call = ++calls;
  if (call == end) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (!needs_room || full == 0 || call < full) return true;
  errno = ENOSPC;
  return false;
}

std::uint64_t inode(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

struct Place {
  std::uint64_t folder = 0;
  std::string name;
};

Place place(int folder, const char* path) {
  std::string text = path;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  const size_t slash = text.rfind('/');
  const std::string above = slash == std::string::npos ? "." : text.substr(0, slash + 1);
  struct stat status {};
  fstatat(folder, above.c_str(), &status, 0);
  return {status.st_ino, slash == std::string::npos ? text : text.substr(slash + 1)};
}

std::uint64_t inode_at(int folder, const char* path) {
  struct stat status {};
  return fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const bool below = is_below(folder, path), changes = flags & (O_CREAT | O_TRUNC);
  const bool is_new = below && inode_at(folder, path) == 0;
  if (below && changes && !goes_on(is_new)) return -1;
  const int file = static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
  if (file < 0 || file >= most_files) return file;
  watched[file] = below;
  if (below && is_new) {
    const Place at = place(folder, path);
    note(Call::make, at.folder, inode(file), at.name);
  } else if (below && flags & O_TRUNC) {
    note(Call::cut, inode(file), 0);
  }
  return file;
}

mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? static_cast<mode_t>(va_arg(arguments, int)) : mode_t{0};
}

ssize_t note_write(int file, const std::string& bytes, ssize_t done, off_t from) {
  if (done > 0)
    note(Call::write, inode(file), static_cast<std::uint64_t>(from), "",
         bytes.substr(0, static_cast<size_t>(done)));
  return done;
}

int remove_at(int folder, const char* path, int flags) {
  const bool below = is_below(folder, path);
  if (below) goes_on(false);
  const Place at = below ? place(folder, path) : Place{};
  const int result = static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
  if (below && result == 0) note(Call::remove, at.folder, 0, at.name);
  return result;
}

int rename_at(int folder, const char* from, int other, const char* to, unsigned flags) {
  const bool below = is_below(folder, from) || is_below(other, to);
  if (below) goes_on(false);
  const Place before = below ? place(folder, from) : Place{};
  const Place after = below ? place(other, to) : Place{};
  const int result = static_cast<int>(syscall(SYS_renameat2, folder, from, other, to, flags));
  if (below && result == 0)
    note(Call::rename, before.folder, after.folder, before.name, after.name);
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(folder, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

// libstdc++'s streams: the descriptor behind them is then seen in write() and writev().
FILE* fopen64(const char* path, const char* mode) {
  const bool writes = strchr(mode, 'w') || strchr(mode, 'a');
  if (!writes || !is_below(AT_FDCWD, path)) return NEXT(fopen64)(path, mode);
  const int kind = strchr(mode, 'a') ? O_APPEND : O_TRUNC;
  const int file = open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | kind, 0666);
  return file < 0 ? nullptr : fdopen(file, mode);
}
FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

int close(int file) {
  if (file >= 0 && file < most_files) watched[file] = false;
  return static_cast<int>(syscall(SYS_close, file));
}

ssize_t write(int file, const void* bytes, size_t size) {
  if (!is_watched(file)) return syscall(SYS_write, file, bytes, size);
  if (!goes_on(true)) return -1;
  const off_t from = lseek(file, 0, SEEK_CUR);
  const ssize_t done = syscall(SYS_write, file, bytes, size);
  return note_write(file, {static_cast<const char*>(bytes), size}, done, from);
}
ssize_t writev(int file, const iovec* parts, int count) {
  if (!is_watched(file)) return syscall(SYS_writev, file, parts, count);
  std::string all;
  for (int i = 0; i < count; ++i)
    all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return write(file, all.data(), all.size());
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t from) {
  if (!is_watched(file)) return syscall(SYS_pwrite64, file, bytes, size, from);
  if (!goes_on(true)) return -1;
  const ssize_t done = syscall(SYS_pwrite64, file, bytes, size, from);
  return note_write(file, {static_cast<const char*>(bytes), size}, done, from);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off_t from) {
  return pwrite(file, bytes, size, from);
}

int ftruncate(int file, off_t size) noexcept {
  if (is_watched(file)) goes_on(false);
  const int result = static_cast<int>(syscall(SYS_ftruncate, file, size));
  if (is_watched(file) && result == 0)
    note(Call::cut, inode(file), static_cast<std::uint64_t>(size));
  return result;
}
int ftruncate64(int file, off_t size) noexcept { return ftruncate(file, size); }

int fsync(int file) {
  if (is_watched(file)) goes_on(false);
  const int result = static_cast<int>(syscall(SYS_fsync, file));
  if (is_watched(file) && result == 0) note(Call::sync, inode(file), 0);
  return result;
}
int fdatasync(int file) { return fsync(file); }

int rename(const char* from, const char* to) noexcept {
  return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int folder, const char* from, int other, const char* to) noexcept {
  return rename_at(folder, from, other, to, 0);
}
int renameat2(int folder, const char* from, int other, const char* to, unsigned flags) noexcept {
  return rename_at(folder, from, other, to, flags);
}

int unlink(const char* path) noexcept { return remove_at(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return remove_at(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return remove_at(folder, path, flags);
}
int remove(const char* path) noexcept {
  const int result = remove_at(AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? remove_at(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  const bool below = is_below(folder, path);
  if (below && !goes_on(true)) return -1;
  const int result = static_cast<int>(syscall(SYS_mkdirat, folder, path, mode));
  if (!below || result != 0) return result;
  const Place at = place(folder, path);
  note(Call::make_folder, at.folder, inode_at(folder, path), at.name);
  return result;
}
int mkdir(const char* path, mode_t mode) noexcept { return mkdirat(AT_FDCWD, path, mode); }

int symlinkat(const char* target, int folder, const char* path) noexcept {
  const bool below = is_below(folder, path);
  if (below && !goes_on(true)) return -1;
  const int result = static_cast<int>(syscall(SYS_symlinkat, target, folder, path));
  if (below && result == 0) {
    const Place at = place(folder, path);
    note(Call::link, at.folder, 0, at.name, target);
  }
  return result;
}
int symlink(const char* target, const char* path) noexcept {
  return symlinkat(target, AT_FDCWD, path);
}

}  // extern "C"
