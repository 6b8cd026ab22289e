// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/shards.h"

#include <cmath>

namespace narrowgauge::cpu {
namespace {

constexpr double operations_each = 1e7;     // of a shard: about 0.1 ms of one core in f32
constexpr double operations_least = 2.5e6;  // of a shard, where there are only a few
constexpr std::int64_t few = 4;
constexpr double operations_an_element = 40;  // bringing it in and out; a shard stays in the L2

}  // namespace

std::int64_t shards_worth(const ShardRequest& request) {
  const double operations = request.operations + operations_an_element * request.elements;
  double worth =
      std::max(operations / operations_each, std::min(operations / operations_least, double{few}));
  // Three would leave one of two cores, or of four, without work; so would five.
  if (worth >= 1 && worth < few) worth = std::exp2(std::round(std::log2(worth)));
  if (worth >= few) worth = few * std::round(worth / few);
  return static_cast<std::int64_t>(std::clamp(worth, 1.0, static_cast<double>(request.most)));
}

Shards cut(const ShardRequest& request) {
  const std::int64_t granules = (request.extent + request.granule - 1) / request.granule;
  std::int64_t count = std::min(shards_worth(request), granules);
  if (count > few) count -= count % few;
  return {.extent = request.extent, .granule = request.granule, .count = count};
}

Range Shards::range(std::int64_t shard) const {
  const std::int64_t granules = (extent + granule - 1) / granule;
  const std::int64_t least = granules / count, longer = granules % count;
  const auto begin = [&](std::int64_t at) {
    return std::min((at * least + std::min(at, longer)) * granule, extent);
  };
  const std::int64_t at = shard % count;
  return {begin(at), begin(at + 1) - begin(at)};
}

}  // namespace narrowgauge::cpu
