// SPDX-License-Identifier: Apache-2.0
#include "compile/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace narrowgauge {

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool alive_together(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The lowest gap between `placed` buffers, sorted by offset, that are alive at the same time.
std::int64_t lowest_gap(const std::vector<const BufferRequest*>& placed,
                        const BufferRequest& buffer) {
  std::int64_t offset = 0;
  for (const BufferRequest* other : placed) {
    if (!alive_together(*other, buffer)) continue;
    if (other->offset - offset >= aligned(buffer.bytes)) break;
    offset = std::max(offset, other->offset + aligned(other->bytes));
  }
  return offset;
}

}  // namespace

std::int64_t place_buffers(std::vector<BufferRequest>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  std::vector<const BufferRequest*> placed;
  std::int64_t total = 0;
  for (const std::size_t i : order) {
    BufferRequest& buffer = buffers[i];
    if (buffer.bytes == 0) continue;
    buffer.offset = lowest_gap(placed, buffer);
    total = std::max(total, buffer.offset + aligned(buffer.bytes));
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), buffer.offset,
        [](std::int64_t offset, const BufferRequest* other) { return offset < other->offset; });
    placed.insert(after, &buffer);
  }
  return total;
}

std::int64_t peak_bytes(const std::vector<BufferRequest>& buffers) {
  std::map<int, std::int64_t> change;
  for (const BufferRequest& buffer : buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  std::int64_t alive = 0, peak = 0;
  for (const auto& [step, bytes] : change) {
    alive += bytes;
    peak = std::max(peak, alive);
  }
  return peak;
}

}  // namespace narrowgauge
