// SPDX-License-Identifier: Apache-2.0
// Work that a host thread shares with the team's workers. Each thread inside takes one piece after
// another; the last piece closes the job, so the host thread waits only for those inside. The host
// thread begins with the first piece and workers with the last, so that a core that reads what an
// earlier job stored finds most of it in its own cache.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/threads/parallel.h"
#include "base/threads/waiting.h"

namespace narrowgauge {

class alignas(64) Job {
 public:
  using Piece = FunctionRef<void(std::int64_t piece)>;

  // Called by the host thread in this order: claim, open, take_all, finish.
  bool claim();  // false: another host thread has it
  void open(std::int64_t pieces, int places, const Piece& piece);
  void take_all();
  void finish(std::chrono::nanoseconds spin);

  // Called by a worker to take part; false if it is not let in.
  bool help();

  // Called in a child of fork(), where no worker is left.
  void forget_workers(bool claimed);

 private:
  bool enter();
  void leave();
  template <class Next>
  void take_each(const Next& next);

  // One word says whether the job is claimed, whether its host thread sleeps, how many workers may
  // still enter, and how many are inside.
  Word state_{0};
  const Piece* piece_ = nullptr;
  std::int64_t pieces_ = 0;
  unsigned modes_ = 0;  // the host thread's MXCSR
  alignas(64) std::atomic<std::int64_t> taken_{0};
  std::atomic<std::int64_t> from_behind_{0};  // of those that are taken
};

}  // namespace narrowgauge
