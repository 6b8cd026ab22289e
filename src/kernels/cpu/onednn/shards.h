// SPDX-License-Identifier: Apache-2.0
// How a contraction is cut along one axis. The cut depends only on the shape, never on the number
// of threads, so a contraction has the same bits for any number of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace narrowgauge::cpu {

struct Range {
  std::int64_t begin = 0, size = 0;
};

// Which elements of an operand a range of the cut axis needs: those under a window. By default, the
// same range.
struct Reach {
  std::int64_t stride = 1, taps = 1, pad = 0;
  std::int64_t extent = std::numeric_limits<std::int64_t>::max();

  Range of(const Range& range) const {
    const std::int64_t begin = std::max<std::int64_t>(first(range), 0);
    return {begin, std::min(end(range), extent) - begin};
  }
  std::int64_t pad_before(const Range& range) const {
    return std::max<std::int64_t>(-first(range), 0);
  }
  std::int64_t pad_behind(const Range& range) const {
    return std::max<std::int64_t>(end(range) - extent, 0);
  }

 private:
  std::int64_t first(const Range& range) const { return range.begin * stride - pad; }
  std::int64_t end(const Range& range) const {
    return (range.begin + range.size - 1) * stride - pad + taps;
  }
};

struct ShardRequest {
  std::int64_t extent = 1;   // of the axis
  std::int64_t granule = 1;  // shards are multiples of it
  std::int64_t most = 32;    // shards
  double operations = 0;     // of the whole contraction, 2 for each multiply and add
  double elements = 0;       // of the operands that are cut: each counts for some operations
};

// The number of shards that the work is worth if the axis is long enough.
std::int64_t shards_worth(const ShardRequest& request);

// Parts of an axis that differ by at most a granule, longer ones first, so that two threads, or
// four, have alike.
struct Shards {
  std::int64_t extent = 1, granule = 1, count = 1;
  std::int64_t images = 1;  // each of them cut so, where cut by itself

  std::int64_t total() const { return images * count; }
  Range range(std::int64_t shard) const;
  std::int64_t image(std::int64_t shard) const { return shard / count; }
};

Shards cut(const ShardRequest& request);

}  // namespace narrowgauge::cpu
