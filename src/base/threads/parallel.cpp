// SPDX-License-Identifier: Apache-2.0
#include "base/threads/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/machine/control_group.h"
#include "base/machine/cores.h"
#include "base/machine/openmp.h"
#include "base/threads/team.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

std::optional<double> quota_of_this_process() {
  return control_group_cores(control_group_mount, control_group_membership());
}

int default_threads() {
  const std::string text = environment("THREADS");
  if (text.empty()) return std::min(hardware_threads(), openmp_threads());
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  require(error == std::errc() && end == text.data() + text.size() && threads >= 1 &&
              threads <= most_threads,
          "NARROWGAUGE_THREADS: expected a number from 1 to ", most_threads, ", got \"", text, '"');
  return threads;
}

// The pieces of one parallel_for. When pieces fail, the exception of the lowest of them is kept,
// and pieces not yet begun are left out.
class Pieces {
 public:
  using Body = FunctionRef<void(std::int64_t, std::int64_t)>;
  Pieces(std::int64_t count, std::int64_t grain, Body body)
      : count_(count), grain_(grain), pieces_((count - 1) / grain + 1), body_(body) {}

  std::int64_t size() const { return pieces_; }

  void run(std::int64_t piece) const {
    const std::int64_t begin = piece * grain_;
    body_(begin, begin + std::min(grain_, count_ - begin));
  }

  void try_to_run(std::int64_t piece) noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      run(piece);
    } catch (...) {
      keep(piece, std::current_exception());
    }
  }

  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void keep(std::int64_t piece, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed) && piece > failed_piece_) return;
    failed_piece_ = piece;
    error_ = std::move(error);
    failed_.store(true, std::memory_order_relaxed);
  }

  std::int64_t count_, grain_, pieces_;
  Body body_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::int64_t failed_piece_ = 0;
  std::exception_ptr error_;
};

}  // namespace

int hardware_threads() {
  static const std::optional<double> quota = quota_of_this_process();
  const int cores = affinity_cores();
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

int thread_count() {
  HostThread& host = host_thread();
  if (host.in_team || in_openmp_region()) return 1;
  if (host.threads == 0) host.threads = default_threads();
  return host.threads;
}

ThreadScope::ThreadScope(int threads) : previous_(host_thread().threads) {
  require(threads >= 1 && threads <= most_threads, "threads: expected 1 to ", most_threads,
          ", got ", threads);
  host_thread().threads = threads;
}

ThreadScope::~ThreadScope() { host_thread().threads = previous_; }

void parallel_for(std::int64_t count, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body) {
  NG_INVARIANT(count >= 0 && grain >= 1);
  if (count == 0) return;
  Pieces pieces(count, grain, body);
  const int threads = pieces.size() > 1 ? thread_count() : 1;
  if (threads == 1) {
    for (std::int64_t piece = 0; piece < pieces.size(); ++piece) pieces.run(piece);
    return;
  }
  run_team(pieces.size(), threads, [&](std::int64_t piece) { pieces.try_to_run(piece); });
  pieces.rethrow();
}

}  // namespace narrowgauge
