// SPDX-License-Identifier: Apache-2.0
// Makes requests for memory fail, each by itself: those of new, malloc and their kin, and of mmap.
// For one source of a program of its own, as it replaces these functions.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/files/folder_content.h"
#include "narrowgauge/out_of_memory.h"

namespace narrowgauge::failing_allocation {

// Sanitizers have a malloc of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool replaces_malloc = false;
#else
inline constexpr bool replaces_malloc = true;
#endif

enum class Lack {
  once,         // one request fails, as a large one does
  from_then_on  // it fails, and so do all until the call is over
};

// The requests of the call under test.
struct Requests {
  std::atomic<std::int64_t> left = 0;  // until the one that fails; 0: none does
  std::atomic<bool> lasting = false;   // whether those behind it fail too
  std::atomic<bool> failed = false;    // whether one did
  std::atomic<bool> seen = false;      // whether they are looked at, and none fails
};
inline constinit Requests requests;

// Where in the code requests are made: the numbers of the first from each place.
class Places {
 public:
  void clear() {
    hashes_.fill(0);
    count_ = numbers_ = 0;
  }
  void add(std::uint64_t hash) {
    while (busy_.test_and_set(std::memory_order_acquire)) continue;
    ++count_;
    std::size_t slot = hash % hashes_.size();
    while (hashes_[slot] != 0 && hashes_[slot] != hash) slot = (slot + 1) % hashes_.size();
    const bool is_new = hashes_[slot] == 0 && numbers_ < number_.size();
    if (is_new) number_[numbers_++] = count_;
    if (is_new) hashes_[slot] = hash;
    busy_.clear(std::memory_order_release);
  }
  std::vector<std::int64_t> numbers() const {
    return {number_.begin(), number_.begin() + static_cast<std::ptrdiff_t>(numbers_)};
  }

 private:
  static constexpr std::size_t most = 1 << 14;
  std::array<std::uint64_t, 4 * most> hashes_{};
  std::array<std::int64_t, most> number_{};
  std::size_t numbers_ = 0;
  std::int64_t count_ = 0;
  std::atomic_flag busy_{};
};
inline constinit Places places;

// A hash of the functions that call each other up to here.
inline std::uint64_t hash_of_place() {
  struct Walk {
    int frames = 0;
    std::uint64_t hash = 0;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        constexpr int most_frames = 10;
        auto& at = *static_cast<Walk*>(data);
        at.hash = (at.hash ^ _Unwind_GetIP(context)) * 0x9e3779b97f4a7c15U + 1;
        return ++at.frames < most_frames ? _URC_NO_REASON : _URC_NORMAL_STOP;
      },
      &walk);
  return walk.hash | 1;
}

inline bool fails() {
  if (requests.seen.load(std::memory_order_relaxed)) places.add(hash_of_place());
  std::int64_t left = requests.left.load(std::memory_order_relaxed);
  do {
    if (left <= 0) return false;
    if (left == 1 && requests.lasting.load(std::memory_order_relaxed)) break;
  } while (!requests.left.compare_exchange_weak(left, left - 1));
  if (left != 1) return false;
  requests.failed = true;
  return true;
}

// No request fails, or is looked at, in its life: for what a test does inside of a call.
class Pause {
 public:
  Pause() : left_(requests.left.exchange(0)), seen_(requests.seen.exchange(false)) {}
  ~Pause() {
    requests.left = left_;
    requests.seen = seen_;
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  std::int64_t left_;
  bool seen_;
};

}  // namespace narrowgauge::failing_allocation

extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
}

namespace narrowgauge::failing_allocation {

inline void* refused() {
  errno = ENOMEM;
  return nullptr;
}

inline void* plain_memory(std::size_t size) {
  return replaces_malloc ? __libc_malloc(size) : std::malloc(size);
}

inline void* aligned_memory(std::size_t alignment, std::size_t size) {
  return fails() ? refused() : __libc_memalign(alignment, size);
}

}  // namespace narrowgauge::failing_allocation

// Those of the standard library call these.
void* operator new(std::size_t size) {
  namespace failing = narrowgauge::failing_allocation;
  void* const memory = failing::fails() ? nullptr : failing::plain_memory(size > 0 ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* malloc(std::size_t size) noexcept {
  namespace failing = narrowgauge::failing_allocation;
  return failing::fails() ? failing::refused() : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  namespace failing = narrowgauge::failing_allocation;
  return failing::fails() ? failing::refused() : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  namespace failing = narrowgauge::failing_allocation;
  return failing::fails() ? failing::refused() : __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return narrowgauge::failing_allocation::aligned_memory(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  *memory = narrowgauge::failing_allocation::aligned_memory(alignment, size);
  return *memory ? 0 : ENOMEM;
}
#endif
void* mmap(void* where, std::size_t size, int access, int flags, int file, off_t offset) noexcept {
  namespace failing = narrowgauge::failing_allocation;
  if (!failing::fails())
    return reinterpret_cast<void*>(syscall(SYS_mmap, where, size, access, flags, file, offset));
  errno = ENOMEM;
  return MAP_FAILED;
}
}

namespace narrowgauge::failing_allocation {

inline std::size_t open_files() { return names_in("/proc/self/fd").size(); }

// A call and what it left is looked at by `check` after each call that failed.
template <class Call, class Check>
class EachRequest {
 public:
  EachRequest(std::string what, const Call& call, const Check& check)
      : what_(std::move(what)), call_(call), check_(check) {}

  // Lets requests from all places fail, or of more than `most` these, spread over all. Returns how
  // many failed.
  std::size_t fail(std::size_t most) {
    call_();  // what is made once in a process is there
    places.clear();
    requests.seen = true;
    call_();
    requests.seen = false;
    const std::vector<std::int64_t> numbers = places.numbers();
    const std::size_t count = std::min(most, numbers.size());
    for (std::size_t i = 0; i < count && !testing::Test::HasFailure(); ++i)
      for (const Lack lack : {Lack::once, Lack::from_then_on})
        fail_one(numbers[i * numbers.size() / count], lack);
    return failures_;
  }

 private:
  void fail_one(std::int64_t number, Lack lack) {
    const std::size_t files = open_files();
    std::string error;
    requests.failed = false;
    requests.lasting = lack == Lack::from_then_on;
    requests.left = number;
    try {
      call_();
    } catch (const std::bad_alloc&) {
      error = "bad_alloc";
    } catch (const OutOfMemoryError&) {
      error = "out of memory";
    } catch (const std::exception& other) {
      requests.left = 0;
      error = other.what();
      ADD_FAILURE() << "not said to be for lack of memory";
    }
    requests.left = 0;
    if (!requests.failed) return;
    ++failures_;
    EXPECT_EQ(open_files(), files);
    if (!error.empty()) check_();  // sorting, for one, does without the memory that it asks for
    if (testing::Test::HasFailure())
      ADD_FAILURE() << what_ << ", request " << number
                    << (lack == Lack::once ? "" : " and all that follow") << ": " << error;
  }

  std::string what_;
  const Call& call_;
  const Check& check_;
  std::size_t failures_ = 0;
};

template <class Call, class Check>
std::size_t fail_each_request_of(const std::string& what, std::size_t most, const Call& call,
                                 const Check& check) {
  return EachRequest<Call, Check>(what, call, check).fail(most);
}

}  // namespace narrowgauge::failing_allocation
