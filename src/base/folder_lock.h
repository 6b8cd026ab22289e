// SPDX-License-Identifier: Apache-2.0
// One writer a folder: an advisory lock that the kernel takes back when the process ends, however
// it ends. The file FOLDER/lock stays; it says who has the lock, for people.
#pragma once

#include <sys/types.h>

#include <string>

namespace narrowgauge {

// Throws UsageError naming the process that has the folder, DataError where the file cannot be
// made. On a file system that knows no locks it warns and goes on: refusing would make such places
// useless, and one writer there is as safe as anywhere.
class FolderLock {
 public:
  static constexpr const char* file_name = "lock";
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
  pid_t owner_ = 0;  // a forked child has the descriptor too, and must leave the text alone
};

}  // namespace narrowgauge
