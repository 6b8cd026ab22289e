// SPDX-License-Identifier: Apache-2.0
// One writer or many readers, as std::shared_mutex has it, but whoever waits to write goes ahead of
// the readers that come later: glibc's lets readers that overlap keep a writer out for ever.
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
