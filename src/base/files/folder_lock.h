// SPDX-License-Identifier: Apache-2.0
// One writer per folder: an advisory lock that the kernel releases when the process ends, however
// it ends. The file FOLDER/lock stays; it tells people who holds the lock.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/files/descriptor.h"

namespace narrowgauge {

// Throws UsageError naming the process that holds the lock, DataError if the file cannot be made.
// On a file system without locks it warns and goes on: refusing would make such places useless, and
// one writer there is as safe as anywhere.
class FolderLock {
 public:
  static constexpr const char* file_name = "lock";
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  Descriptor file_;
  pid_t owner_ = 0;  // a forked child has the descriptor too, and must leave the text alone
};

}  // namespace narrowgauge
