// SPDX-License-Identifier: Apache-2.0
#include "base/threads/waiting.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace narrowgauge {

static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free);

void sleep_while(const Word& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(const Word& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

}  // namespace narrowgauge
