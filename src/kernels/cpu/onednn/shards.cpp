// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/shards.h"

#include <cmath>

namespace narrowgauge::cpu {
namespace {

constexpr double operations_each = 1e7;     // of a shard: about 0.1 ms of one core in f32
constexpr double operations_least = 2.5e6;  // of a shard, where there are only a few
constexpr double few = 4;
constexpr double operations_an_element = 40;  // bringing it in and out; a shard stays in the L2

// A size up to half larger is taken if it divides the extent: no second primitive for the end.
std::int64_t even_size(std::int64_t extent, std::int64_t least) {
  for (std::int64_t each = least; 2 * each < 3 * least; ++each)
    if (extent % each == 0) return each;
  return least;
}

}  // namespace

std::int64_t shards_worth(const ShardRequest& request) {
  const double operations = request.operations + operations_an_element * request.elements;
  double worth =
      std::max(operations / operations_each, std::min(operations / operations_least, few));
  // Three would leave one of two cores, or of four, without work.
  if (worth >= 1 && worth < few) worth = std::exp2(std::round(std::log2(worth)));
  return static_cast<std::int64_t>(std::clamp(worth, 1.0, static_cast<double>(request.most)));
}

Shards cut(const ShardRequest& request) {
  const std::int64_t granules = (request.extent + request.granule - 1) / request.granule;
  const std::int64_t count = std::min(shards_worth(request), granules);
  const std::int64_t each = even_size(granules, (granules + count - 1) / count) * request.granule;
  Shards shards{request.extent, std::min(each, request.extent), 1, 1};
  shards.count = (request.extent + shards.each - 1) / shards.each;
  return shards;
}

}  // namespace narrowgauge::cpu
