// SPDX-License-Identifier: Apache-2.0
#include "base/team.h"

#include <omp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace narrowgauge {
namespace {

class InTeam {
 public:
  InTeam() : thread_(host_thread()), previous_(std::exchange(thread_.in_team, true)) {}
  ~InTeam() { thread_.in_team = previous_; }
  InTeam(const InTeam&) = delete;
  InTeam& operator=(const InTeam&) = delete;

 private:
  HostThread& thread_;
  bool previous_;
};

}  // namespace

HostThread& host_thread() {
  thread_local HostThread state;
  return state;
}

#ifdef NARROWGAUGE_PLAIN_THREADS

namespace {

using TeamFunction = FunctionRef<void(int)>;

// Workers wait for a generation to begin; the caller takes part and waits for the last of them.
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    begin_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(int threads, TeamFunction function) {
    while (static_cast<int>(workers_.size()) < threads - 1) add_worker();
    {
      const std::lock_guard lock(mutex_);
      function_ = &function;
      wanted_ = threads;
      running_ = threads - 1;
      ++generation_;
    }
    begin_.notify_all();
    {
      const InTeam mark;
      function(0);
    }
    std::unique_lock lock(mutex_);
    end_.wait(lock, [&] { return running_ == 0; });
    function_ = nullptr;
  }

 private:
  void add_worker() {
    const int index = static_cast<int>(workers_.size()) + 1;
    workers_.emplace_back([this, index, seen = generation_] { work(index, seen); });
  }

  void work(int index, std::uint64_t seen) {
    const InTeam mark;
    set_library_threads(1);
    std::unique_lock lock(mutex_);
    while (true) {
      begin_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      if (index >= wanted_) continue;
      const TeamFunction* function = function_;
      lock.unlock();
      (*function)(index);
      lock.lock();
      if (--running_ == 0) end_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::vector<std::thread> workers_;
  const TeamFunction* function_ = nullptr;
  std::uint64_t generation_ = 0;
  int wanted_ = 0, running_ = 0;
  bool stop_ = false;
};

}  // namespace

bool is_nested() { return host_thread().in_team; }
int library_threads() { return 1; }
// The thread sanitizer does not see how libgomp synchronizes: oneDNN stays in the calling thread.
void set_library_threads(int) { omp_set_num_threads(1); }

void run_team(int threads, TeamFunction function) {
  thread_local Pool pool;
  pool.run(threads, function);
}

#else

bool is_nested() { return host_thread().in_team || omp_in_parallel(); }
int library_threads() { return omp_get_max_threads(); }
void set_library_threads(int threads) { omp_set_num_threads(threads); }

void run_team(int threads, FunctionRef<void(int)> function) {
#pragma omp parallel num_threads(threads)
  {
    const InTeam mark;
    function(omp_get_thread_num());
  }
}

#endif

}  // namespace narrowgauge
