// SPDX-License-Identifier: Apache-2.0
// Allows one writer or many readers, like std::shared_mutex, but a waiting writer goes ahead of
// later readers: with glibc's, overlapping readers can keep a writer out for ever.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace narrowgauge {

class FairSharedMutex {
 public:
  void lock() {
    const std::lock_guard turn(turn_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::lock_guard turn(turn_);
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex turn_;  // held while waiting for `mutex_`
  std::shared_mutex mutex_;
};

}  // namespace narrowgauge
