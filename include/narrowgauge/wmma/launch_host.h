// SPDX-License-Identifier: Apache-2.0
// wmma/launch.h on the host.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "narrowgauge/wmma/unit.h"

// Marks a kernel: __global__ under nvcc.
#define NG_KERNEL
// Marks a function that kernels call: __device__ under nvcc.
#define NG_DEVICE
// NG_SHARED(half, tile, [64][16]): memory of the block, aligned to 128 bytes, not initialised: the
// host fills it with ones (NaN) before each block.
#define NG_SHARED(type, name, ...) \
  auto& name = ::narrowgauge::wmma::host::shared<type __VA_ARGS__, decltype([] {})>()
// The memory that Grid::shared_bytes asks for.
#define NG_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::narrowgauge::wmma::host::dynamic_shared())

namespace narrowgauge::wmma {
inline namespace on_host {

// Three sizes or places, as CUDA's.
struct dim3 {
  // A line, plane or box.
  dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
  unsigned x, y, z;  // x runs fastest
};

// The grid that launch() runs a kernel on.
struct Grid {
  dim3 blocks, threads;          // in the grid; in a block
  std::size_t shared_bytes = 0;  // of NG_DYNAMIC_SHARED, in each block
};

namespace host {

struct Release {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t(128)); }
};
using Memory = std::unique_ptr<void, Release>;
inline Memory allocate(std::size_t bytes) {
  return Memory(::operator new(bytes ? bytes : 1, std::align_val_t(128)));
}

// A barrier that threads may leave for good: the others no longer wait for them.
class Barrier {
 public:
  void reset(int threads) { expected_ = threads, waiting_ = 0; }
  void wait() {
    std::unique_lock lock(mutex_);
    if (++waiting_ == expected_) return release();
    const unsigned turn = turn_;
    passed_.wait(lock, [&] { return turn != turn_; });
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--expected_ == waiting_ && waiting_ > 0) release();
  }

 private:
  void release() {
    waiting_ = 0;
    ++turn_;
    passed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable passed_;
  int expected_ = 0, waiting_ = 0;
  unsigned turn_ = 0;
};

// A running block: its memory and its barrier.
class Block {
 public:
  explicit Block(const Grid& grid) : dynamic_(allocate(grid.shared_bytes)), grid_(grid) {}

  void begin(std::size_t number, int warps) {
    const auto x = grid_.blocks.x, y = grid_.blocks.y;
    index = dim3(static_cast<unsigned>(number % x), static_cast<unsigned>(number / x % y),
                 static_cast<unsigned>(number / x / y));
    barrier.reset(warps);
    std::memset(dynamic_.get(), 0xff, grid_.shared_bytes);
    for (const Array& array : arrays_) std::memset(array.memory.get(), 0xff, array.bytes);
  }
  void* shared(const void* declaration, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (const Array& array : arrays_)
      if (array.declaration == declaration) return array.memory.get();
    arrays_.push_back({declaration, bytes, allocate(bytes)});
    std::memset(arrays_.back().memory.get(), 0xff, bytes);
    return arrays_.back().memory.get();
  }
  void* dynamic() { return dynamic_.get(); }
  const Grid& grid() const { return grid_; }

  dim3 index;
  Barrier barrier;

 private:
  struct Array {
    const void* declaration;
    std::size_t bytes;
    Memory memory;
  };
  std::mutex mutex_;
  std::vector<Array> arrays_;
  Memory dynamic_;
  const Grid& grid_;
};

struct Warp {
  Block* block = nullptr;
  int rank = 0, count = 1;
};
inline thread_local Warp warp;  // what this thread runs

inline Block& block_of_warp(const char* what) {
  if (!warp.block) throw std::logic_error(std::string("wmma: ") + what + " outside of a launch");
  return *warp.block;
}

template <class Declaration>
inline constexpr char mark_of{};  // its address names a declaration

template <class T, class Declaration>
T& shared() {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
                "NG_SHARED: shared memory is not initialised");
  void* memory = block_of_warp("NG_SHARED").shared(&mark_of<Declaration>, sizeof(T));
  return *static_cast<T*>(memory);
}
inline void* dynamic_shared() { return block_of_warp("NG_DYNAMIC_SHARED").dynamic(); }

// Runs the blocks of a launch: `teams` of them at once, each on one thread for every warp.
class Launch {
 public:
  Launch(const Grid& grid, void (*function)(const void*), const void* kernel)
      : grid_(grid), call_(function), kernel_(kernel), choice_(unit::choice()) {
    const std::size_t threads = std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z;
    if (threads == 0 || threads % 32 != 0 || threads > 1024)
      throw std::invalid_argument("wmma: launch: a block has 32, 64, ... or 1024 threads, not " +
                                  std::to_string(threads));
    warps_ = static_cast<int>(threads / 32);
    blocks_ = std::size_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  }

  void run() {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted = std::max<std::size_t>(1, cores / static_cast<unsigned>(warps_));
    for (std::size_t i = 0; i < std::min(wanted, blocks_); ++i) teams_.emplace_back(*this);
    std::vector<std::thread> threads;
    try {
      for (Team& team : teams_)
        for (int rank = 0; rank < warps_; ++rank)
          if (&team != &teams_.front() || rank > 0)
            threads.emplace_back([this, &team, rank] { start(team, rank); });
    } catch (...) {
      open(cancelled);
      for (std::thread& thread : threads) thread.join();
      throw;
    }
    open(opened);
    if (!teams_.empty()) work(teams_.front(), 0);
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Team {
    explicit Team(const Launch& launch) : block(launch.grid_) { turns.reset(launch.warps_); }
    Block block;
    Barrier turns;
    std::size_t number = 0;
  };
  enum Gate { closed, opened, cancelled };

  void open(Gate gate) {
    gate_ = gate;
    gate_.notify_all();
  }
  void start(Team& team, int rank) {
    gate_.wait(closed);
    if (gate_ == opened) work(team, rank);
  }

  void work(Team& team, int rank) {
    const UnitScope scope(choice_);
    const Warp before = std::exchange(warp, Warp{&team.block, rank, warps_});
    for (;;) {
      if (rank == 0) {
        team.number = has_failed_ ? blocks_ : next_.fetch_add(1);
        if (team.number < blocks_) team.block.begin(team.number, warps_);
      }
      team.turns.wait();
      if (team.number >= blocks_) break;
      call(team.block);
      team.turns.wait();
    }
    warp = before;
  }

  // Runs one warp of a block. If it throws, it leaves the barrier, so the others reach their end.
  void call(Block& block) {
    try {
      call_(kernel_);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      has_failed_ = true;
    }
    block.barrier.leave();
  }

  const Grid& grid_;
  void (*call_)(const void*);
  const void* kernel_;
  UnitChoice choice_;
  int warps_ = 0;
  std::size_t blocks_ = 0;
  std::deque<Team> teams_;
  std::atomic<int> gate_ = closed;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace host

inline int thread_rank() { return host::warp.rank; }    // of the block's warps, on the host
inline int thread_count() { return host::warp.count; }  // warps of the block, on the host
inline int warp_rank() { return host::warp.rank; }      // in the block, from 0
inline int warp_count() { return host::warp.count; }    // of the block
inline int lane_rank() { return 0; }                    // a warp is one call
inline int lane_count() { return 1; }                   // a warp is one call
// The place of this block; throws std::logic_error outside of a launch.
inline dim3 block_index() { return host::block_of_warp("block_index").index; }
// Blocks of the launch; throws std::logic_error outside of one.
inline dim3 grid_size() { return host::block_of_warp("grid_size").grid().blocks; }
inline void sync_warp() {}  // a warp is one call: nobody to wait for

// Waits for all threads of the block that have not returned. Outside a launch there is one warp.
inline void sync_threads() {
  if (host::warp.block) host::warp.block->barrier.wait();
}

// Runs the kernel on every block, computing as the unit of the calling thread, and returns when all
// have ended. The first exception of a warp is thrown here, and no further block begins. Throws
// std::invalid_argument for a block of no, of part of a warp, or of more than 1024 threads.
template <class... Parameters, class... Arguments>
void launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  const auto call = [&] { kernel(static_cast<Parameters>(arguments)...); };
  using Call = decltype(call);
  host::Launch(
      grid, [](const void* c) { (*static_cast<Call*>(c))(); }, &call)
      .run();
}
// Runs the kernel on every block without dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch(dim3 blocks, dim3 threads, void (*kernel)(Parameters...), Arguments&&... arguments) {
  launch(Grid{blocks, threads}, kernel, static_cast<Arguments&&>(arguments)...);
}

// `count` elements that host and device read and write, not initialised.
template <class T>
class ManagedArray {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
                "ManagedArray: memory is not initialised");

 public:
  // Throws std::bad_alloc.
  explicit ManagedArray(std::size_t count)
      : memory_(host::allocate(count * sizeof(T))), size_(count) {}
  T* data() { return static_cast<T*>(memory_.get()); }                    // the first element
  const T* data() const { return static_cast<const T*>(memory_.get()); }  // the first element
  std::size_t size() const { return size_; }                              // elements
  T& operator[](std::size_t i) { return data()[i]; }                      // not checked
  const T& operator[](std::size_t i) const { return data()[i]; }          // not checked

 private:
  host::Memory memory_;
  std::size_t size_;
};

}  // namespace on_host
}  // namespace narrowgauge::wmma
