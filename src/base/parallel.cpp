// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/control_group.h"
#include "base/cores.h"
#include "base/environment.h"
#include "base/team.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr unsigned flush_bits = 0x8040;  // MXCSR: flush to zero, denormals are zero
constexpr unsigned status_bits = 0x3f;   // MXCSR: exceptions seen; each thread's own affair
constexpr int most_threads = 4096;

std::optional<double> quota_of_this_process() {
  return control_group_cores(control_group_mount, control_group_membership());
}

int default_threads() {
  const std::string text = environment("THREADS");
  if (text.empty()) return std::min(hardware_threads(), std::max(1, library_threads()));
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  require(error == std::errc() && end == text.data() + text.size() && threads >= 1 &&
              threads <= most_threads,
          "NARROWGAUGE_THREADS: expected a number from 1 to ", most_threads, ", got \"", text, '"');
  return threads;
}

// The calling thread's rounding and flushing modes for as long as a worker works for it: what an
// element becomes must not depend on the thread that takes it.
class FloatingModes {
 public:
  explicit FloatingModes(unsigned modes) : own_(_mm_getcsr()) {
    if ((own_ ^ modes) & ~status_bits) _mm_setcsr((modes & ~status_bits) | (own_ & status_bits));
  }
  ~FloatingModes() {
    const unsigned now = _mm_getcsr();
    if ((own_ ^ now) & ~status_bits) _mm_setcsr((own_ & ~status_bits) | (now & status_bits));
  }
  FloatingModes(const FloatingModes&) = delete;
  FloatingModes& operator=(const FloatingModes&) = delete;

 private:
  unsigned own_;
};

// The pieces of one parallel_for. The exception kept is that of the lowest piece of those that
// failed; pieces not yet begun by then are left out.
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

  void take_all() noexcept {
    while (true) {
      const std::int64_t piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= pieces_ || failed_.load(std::memory_order_relaxed)) return;
      try {
        run(piece);
      } catch (...) {
        keep(piece, std::current_exception());
      }
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
  std::atomic<std::int64_t> next_ = 0;
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
  if (is_nested()) return 1;
  HostThread& host = host_thread();
  if (host.threads == 0) host.threads = default_threads();
  return host.threads;
}

ThreadScope::ThreadScope(int threads)
    : previous_(host_thread().threads), previous_library_(library_threads()) {
  require(threads >= 1 && threads <= most_threads, "threads: expected 1 to ", most_threads,
          ", got ", threads);
  HostThread& host = host_thread();
  NG_INVARIANT(host.flushing == 0 || threads <= host.flushing);
  host.threads = threads;
  set_library_threads(threads);
}

ThreadScope::~ThreadScope() {
  host_thread().threads = previous_;
  set_library_threads(previous_library_);
}

struct FlushDenormalsScope::Saved {
  std::vector<unsigned> flush;  // of each thread of the pool, the caller's first
  int outer_flushing;
};

FlushDenormalsScope::FlushDenormalsScope() {
  HostThread& host = host_thread();
  const int threads = is_nested() ? 1 : std::max(thread_count(), library_threads());
  saved_ = new Saved{.flush = std::vector<unsigned>(static_cast<std::size_t>(threads)),
                     .outer_flushing = host.flushing};
  if (host.flushing == 0) host.flushing = threads;
  const auto flush = [&](int thread) {
    const unsigned own = _mm_getcsr();
    saved_->flush[static_cast<std::size_t>(thread)] = own & flush_bits;
    _mm_setcsr(own | flush_bits);
  };
  threads > 1 ? run_team(threads, flush) : flush(0);
}

// Threads that a smaller team ended meanwhile are started anew here: they take over the caller's
// flushing, and then get what their predecessors had.
FlushDenormalsScope::~FlushDenormalsScope() {
  const auto put_back = [&](int thread) {
    _mm_setcsr((_mm_getcsr() & ~flush_bits) | saved_->flush[static_cast<std::size_t>(thread)]);
  };
  const int threads = static_cast<int>(saved_->flush.size());
  threads > 1 ? run_team(threads, put_back) : put_back(0);
  host_thread().flushing = saved_->outer_flushing;
  delete saved_;
}

void parallel_for(std::int64_t count, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body) {
  NG_INVARIANT(count >= 0 && grain >= 1);
  if (count == 0) return;
  Pieces pieces(count, grain, body);
  // The whole team even for fewer pieces: libgomp ends the threads that a smaller team leaves over.
  const int threads = pieces.size() > 1 ? thread_count() : 1;
  if (threads == 1) {
    for (std::int64_t piece = 0; piece < pieces.size(); ++piece) pieces.run(piece);
    return;
  }
  const unsigned modes = _mm_getcsr();
  run_team(threads, [&](int) {
    const FloatingModes as_the_caller(modes);
    pieces.take_all();
  });
  pieces.rethrow();
}

}  // namespace narrowgauge
