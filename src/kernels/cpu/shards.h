// SPDX-License-Identifier: Apache-2.0
// How a contraction is cut along one axis. The cut depends on the shape alone, never on the number
// of threads, so that a cut contraction has the same bits for any number of them.
#pragma once

#include <cstdint>

namespace narrowgauge::cpu {

struct ShardRequest {
  std::int64_t extent = 1;   // of the axis
  std::int64_t granule = 1;  // shards are multiples of it
  std::int64_t most = 32;    // shards
  double operations = 0;     // of the whole contraction, 2 for each multiply and add
  double elements = 0;       // of the operands that are cut: each counts for some operations
  bool deterministic = false;
  int threads = 1;
};

struct Shards {
  std::int64_t extent = 1, each = 1, count = 1;  // the last one may be shorter than `each`
  int threads_each = 1;                          // threads that work on one shard
  int at_once = 1;                               // shards that are worked on together
  std::int64_t last() const { return extent - (count - 1) * each; }
};

// One shard on all threads where the work is too little to hand out in pieces, unless
// deterministic.
Shards cut(const ShardRequest& request);

}  // namespace narrowgauge::cpu
