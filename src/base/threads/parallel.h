// SPDX-License-Identifier: Apache-2.0
// Threads: one set of workers for the whole process, which help whichever host thread has work.
// Work is handed out in small pieces, so that a busy neighbour costs its share and not a stall.
#pragma once

#include <cstdint>
#include <type_traits>

namespace narrowgauge {

// A reference to a callable; valid only during the call it is passed to.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: converts like std::function_ref
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

int hardware_threads();  // cores this process may use

// Threads that the calling host thread works with: NARROWGAUGE_THREADS, else what OpenMP's settings
// and the cores allow; 1 inside a body and in the host's parallel regions. Throws UsageError if
// NARROWGAUGE_THREADS is not a number of threads.
int thread_count();

// Sets the number of threads for the calling host thread and restores the old one at the end.
// Throws UsageError unless it is 1 to 4096.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int previous_;
};

// Calls body(begin, end) over [0, count) in pieces of at most `grain`, the last one shorter. Pieces
// do not depend on the number of threads; which thread takes which does. An exception of the body
// is rethrown in the caller. Runs in place, piece after piece, when nested, with one piece or with
// one thread. The body sees the caller's rounding and flushing modes in every thread.
void parallel_for(std::int64_t count, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

}  // namespace narrowgauge
