// SPDX-License-Identifier: Apache-2.0
// Memory of a call for short lists: on the stack as far as it suffices, so that what runs in every
// step asks the heap for nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

namespace narrowgauge {

// For std::pmr containers that end before it; what does not fit any more comes from the heap.
template <std::size_t bytes>
class StackRoom : public std::pmr::monotonic_buffer_resource {
 public:
  StackRoom() : std::pmr::monotonic_buffer_resource(memory_.data(), bytes) {}

 private:
  alignas(std::max_align_t) std::array<std::byte, bytes> memory_;
};

}  // namespace narrowgauge
