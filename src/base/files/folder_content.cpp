// SPDX-License-Identifier: Apache-2.0
#include "base/files/folder_content.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <tuple>

namespace narrowgauge {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

std::vector<std::string> names_in(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> open(opendir(folder.c_str()));
  if (!open && errno == ENOMEM) throw std::bad_alloc();
  errno = open ? 0 : errno;
  while (const dirent* const entry = open ? readdir(open.get()) : nullptr) {
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
    errno = 0;
  }
  error.assign(errno, std::generic_category());
  return names;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code ignored;
  return names_in(folder, ignored);
}

void remove_all(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    for (const std::string& name : names_in(path))
      remove_all((std::filesystem::path(path) / name).string());
  std::ignore = std::remove(path.c_str());
}

}  // namespace narrowgauge
