// SPDX-License-Identifier: Apache-2.0
#include "base/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <tuple>

#include "base/log.h"
#include "base/text/printable.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr std::size_t longest_text = 300;

// Makes one line: the command line separates words by zeros, and the file may hold anything.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return printable(text, longest_text);
}

std::string this_process() {
  std::array<char, 65> host{};  // HOST_NAME_MAX is 64
  std::ignore = gethostname(host.data(), host.size() - 1);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string command{std::istreambuf_iterator<char>(file), {}};
  return concat("process ", getpid(), " on ", host.data(), ": ", one_line(command), '\n');
}

std::string holder_in(int file) {
  std::array<char, 2 * longest_text> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  const std::string holder =
      one_line({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  return holder.empty() ? "another process" : holder;
}

std::string text_of(int reason) { return std::generic_category().message(reason); }

Descriptor open_lock(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  const int reason = errno;
  struct stat status {};
  require<DataError>(file.get() >= 0, path, ": cannot be opened (", text_of(reason), ")");
  require<DataError>(fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode), path,
                     ": expected a file");
  return file;
}

// Whether the file still has this path: somebody may remove it between opening and locking.
bool is_still_there(int file, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) : owner_(getpid()) {
  const std::string path = (std::filesystem::path(folder) / file_name).string();
  for (;;) {
    file_ = open_lock(path);
    int result = 0;
    do result = flock(file_.get(), LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    const int reason = errno;
    if (result != 0 && reason == EWOULDBLOCK)
      throw UsageError(concat(folder, ": is in use by ", holder_in(file_.get())));
    if (result != 0) {
      log(LogLevel::warning, concat(path, ": this file system knows no locks (", text_of(reason),
                                    "); no second training may write there meanwhile"));
      break;
    }
    if (is_still_there(file_.get(), path)) break;
  }
  const std::string text = this_process();
  std::ignore = ftruncate(file_.get(), 0);
  std::ignore = pwrite(file_.get(), text.data(), text.size(), 0);
}

FolderLock::~FolderLock() {
  if (getpid() == owner_) std::ignore = ftruncate(file_.get(), 0);
}

}  // namespace narrowgauge
