// SPDX-License-Identifier: Apache-2.0
// Pooling of f32 and bf16 whose channels lie together, place by place: a result stays in registers
// until all of its window is read.
#pragma once

#include "base/machine/stack_room.h"
#include "kernels/cpu/core/work.h"
#include "kernels/cpu/pool/pool_grid.h"

namespace narrowgauge::cpu {

struct Bf16 {
  std::uint16_t bits;
};

// The channels of x under a window.
template <class Element>
struct WindowTaps {
  const Element* const* taps;
  std::int64_t count, channels;
};
// -infinity for a window that sees nothing; NaN if it holds one.
void largest_of(const WindowTaps<float>& window, float* y);
void largest_of(const WindowTaps<Bf16>& window, Bf16* y);
// The sum divided by `divisor`.
void mean_of(const WindowTaps<float>& window, float divisor, float* y);

inline bool pools_by_places(const PoolGrid& grid, const PoolRows& rows, DType dtype) {
  return rows.lanes > 1 && grid.x().dtype == dtype && grid.y().dtype == dtype;
}

// Calls body(window, place of y, its channels) for every place of y.
template <class Element, class Body>
void for_each_place(const PoolGrid& grid, const PoolRows& rows, const Call& call,
                    const Body& body) {
  constexpr std::int64_t tasks_each = 16;  // thread
  const View5 &x = grid.x(), &y = grid.y();
  const Index3& kernel = grid.kernel();
  const std::int64_t inner = y.dims[2] * y.dims[3], lines = rows.planes * inner;
  const std::int64_t threads = thread_count(), tasks = std::min(lines, tasks_each * threads);
  hand_out(tasks, threads, [&](std::int64_t task, std::int64_t) {
    StackRoom<1024> room;
    std::pmr::vector<const Element*> taps(
        static_cast<std::size_t>(kernel[0] * kernel[1] * kernel[2]), &room);
    const Part part = part_of(lines, tasks, task);
    for (std::int64_t line = part.begin; line < part.end; ++line)
      for (std::int64_t k = 0; k < y.dims[4]; ++k) {
        const std::int64_t plane = line / inner;
        const Index3 place{line % inner / y.dims[3], line % y.dims[3], k};
        const auto* const image = static_cast<const Element*>(call.inputs[0]) + x.at(plane, 0, {});
        const std::int64_t count = grid.taps_of(place, image, taps.data());
        body(WindowTaps<Element>{taps.data(), count, rows.lanes}, place,
             static_cast<Element*>(call.outputs[0]) + y.at(plane, 0, place));
      }
  });
}

}  // namespace narrowgauge::cpu
