// SPDX-License-Identifier: Apache-2.0
#include "base/threads/team.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "base/machine/cores.h"
#include "base/machine/openmp.h"
#include "base/threads/job.h"
#include "base/unloading.h"

namespace narrowgauge {
namespace {

constexpr std::chrono::nanoseconds spin_time = std::chrono::microseconds(90);

class Team {
 public:
  // The number of workers that can help; starts more if there are too few.
  int workers_for(int threads) {
    const int ready = workers_.load(std::memory_order_acquire);
    if (ready >= threads - 1 || complete_.load(std::memory_order_relaxed)) return ready;
    return grow(threads);
  }

  Job* claim_job() {
    for (Job& job : jobs_)
      if (job.claim()) return &job;
    return nullptr;
  }

  // Spinning workers come by themselves; sleeping ones are woken for the rest.
  void call(int helpers) {
    calls_.fetch_add(1);
    const int missing = helpers - spinning_.load();
    if (missing > 0 && sleeping_.load() > 0) wake(calls_, missing);
  }

  std::chrono::nanoseconds spin() const {
    return may_spin_.load(std::memory_order_relaxed) ? spin_time : std::chrono::nanoseconds(0);
  }

  void work() {
    while (true) {
      const std::uint32_t heard = calls_.load();
      if (stopping_.load()) return;
      if (!help()) wait_for_call(heard);
    }
  }

  void stop(bool program_ends);
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void begin_anew();

 private:
  int grow(int threads);
  int allowed(int threads);
  int start_worker(pthread_t& worker);

  bool help() {
    return std::any_of(jobs_.begin(), jobs_.end(), [](Job& job) { return job.help(); });
  }

  void wait_for_call(std::uint32_t heard) {
    ++spinning_;
    const bool called = spin_until([&] { return calls_.load() != heard; }, spin());
    if (!called) ++sleeping_;  // before it is no longer counted among the spinning
    --spinning_;
    if (called) return;
    sleep_while(calls_, heard);
    --sleeping_;
  }

  // A host thread that finds all jobs taken works alone: this many keep the cores busy.
  std::array<Job, 16> jobs_;
  alignas(64) Word calls_{0};  // changes when there is work; idle workers sleep on it
  alignas(64) std::atomic<int> spinning_{0};
  std::atomic<int> sleeping_{0};
  alignas(64) std::atomic<int> workers_{0};
  std::atomic<bool> complete_{false};  // no more can be started
  std::atomic<bool> may_spin_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> quota_told_{false};
  std::mutex mutex_;  // held while workers are started or stopped
  std::array<pthread_t, most_threads> handles_{};
};

// The team is never destroyed: at the end of a program threads may still work.
constinit Team team;

class InPiece {
 public:
  explicit InPiece(HostThread& host) : host_(host), previous_(std::exchange(host.in_team, true)) {}
  ~InPiece() { host_.in_team = previous_; }
  InPiece(const InPiece&) = delete;
  InPiece& operator=(const InPiece&) = delete;

 private:
  HostThread& host_;
  bool previous_;
};

// Signals belong to the host's threads, except those that a fault of the worker itself raises.
sigset_t signals_of_others() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&signals, fault);
  return signals;
}

void* worker_main(void*) {
  pthread_setname_np(pthread_self(), "narrowgauge");
  std::fesetenv(FE_DFL_ENV);  // it begins with that of the thread that starts it
  // So it does with the cores, which OpenMP may have bound to one.
  if (const auto places = openmp_places()) sched_setaffinity(0, sizeof *places, &*places);
  HostThread& self = host_thread();
  self.in_team = self.is_worker = true;
  team.work();
  return nullptr;
}

int Team::start_worker(pthread_t& worker) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const sigset_t signals = signals_of_others();
  pthread_attr_setsigmask_np(&attributes, &signals);
  const int error = pthread_create(&worker, &attributes, worker_main, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

// How many of the threads asked for may be started.
int Team::allowed(int threads) {
  const int cores = hardware_threads(), limit = openmp_thread_limit();
  if (threads > cores && cores < affinity_cores() && !quota_told_.exchange(true))
    log(LogLevel::warning, concat("threads: ", threads, " were asked for, and the control group ",
                                  "allows the time of ", cores, cores == 1 ? " core" : " cores"));
  if (threads <= limit) return threads;
  log(LogLevel::warning,
      concat("threads: ", threads, " were asked for, and OMP_THREAD_LIMIT ", "allows ", limit));
  return limit;
}

int Team::grow(int threads) {
  watch_for_end_of_program();
  const std::lock_guard lock(mutex_);
  int ready = workers_.load();
  if (ready >= threads - 1 || complete_.load()) return ready;
  const int most = allowed(threads);
  complete_ = most < threads;
  may_spin_ = most <= affinity_cores();
  for (int error = 0; ready < most - 1 && error == 0;) {
    error = start_worker(handles_[static_cast<std::size_t>(ready)]);
    if (error == 0) {
      workers_.store(++ready);
      continue;
    }
    complete_ = true;
    log(LogLevel::warning, concat("threads: ", ready + 1, " of ", most,
                                  " work, another cannot be started: ", std::strerror(error)));
  }
  return ready;
}

// At the end of a program, which may still unload the library, nobody waits long: what a worker
// works on may need a lock that is never given back.
void Team::stop(bool program_ends) {
  if (host_thread().is_worker) return;  // exit() within a piece: it cannot wait for itself
  const std::lock_guard lock(mutex_);
  complete_ = true;
  stopping_ = true;
  ++calls_;
  const int ready = workers_.exchange(0);
  wake(calls_, ready);
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  ++until.tv_sec;
  for (int i = 0; i < ready; ++i) {
    const pthread_t worker = handles_[static_cast<std::size_t>(i)];
    if (program_ends)
      pthread_timedjoin_np(worker, nullptr, &until);
    else
      pthread_join(worker, nullptr);
  }
}

// A child of fork() has only the thread that called it, which may have opened a job.
void Team::begin_anew() {
  for (Job& job : jobs_) job.forget_workers(&job == host_thread().job);
  spinning_ = sleeping_ = workers_ = 0;
  complete_ = stopping_.load();
  mutex_.unlock();
}

// Workers end before the library's code is unloaded.
struct Lifetime final : UnloadStep {
  Lifetime() {
    pthread_atfork([] { team.before_fork(); }, [] { team.after_fork(); },
                   [] { team.begin_anew(); });
    at_unloading(*this);
  }
  void unload(bool program_ends) override { team.stop(program_ends); }
};
Lifetime lifetime;

}  // namespace

HostThread& host_thread() {
  thread_local HostThread state;
  return state;
}

void run_team(std::int64_t pieces, int threads, FunctionRef<void(std::int64_t piece)> piece) {
  HostThread& host = host_thread();
  const InPiece mark(host);
  const auto useful = static_cast<int>(std::min<std::int64_t>(threads, pieces)) - 1;
  const int helpers = useful > 0 ? std::min(useful, team.workers_for(threads)) : 0;
  Job* const job = helpers > 0 ? team.claim_job() : nullptr;
  if (!job) {
    for (std::int64_t i = 0; i < pieces; ++i) piece(i);
    return;
  }
  host.job = job;
  job->open(pieces, helpers, piece);
  team.call(helpers);
  job->take_all();
  job->finish(team.spin());
  host.job = nullptr;
}

}  // namespace narrowgauge
