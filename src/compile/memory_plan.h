// SPDX-License-Identifier: Apache-2.0
// Places buffers with known lifetimes in one arena so that no two that are alive together overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace narrowgauge {

struct BufferRequest {
  std::int64_t bytes = 0;
  int first = 0, last = 0;  // steps between which it is alive, both included
  std::int64_t offset = 0;  // the result
};

// Places the largest first, each at the lowest free offset; offsets are multiples of 64. Returns
// the arena's size.
std::int64_t place_buffers(std::vector<BufferRequest>& buffers);

// The most bytes alive at any one step, below which no placement can go.
std::int64_t peak_bytes(const std::vector<BufferRequest>& buffers);

}  // namespace narrowgauge
