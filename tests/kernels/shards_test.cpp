// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/shards.h"

#include <gtest/gtest.h>

namespace narrowgauge::cpu::shards_test {
namespace {

TEST(shards, cover_the_extent_in_multiples_of_the_granule) {
  for (std::int64_t extent = 1; extent < 200; ++extent)
    for (const std::int64_t granule : {1, 8, 64})
      for (const double operations : {0.0, 1e7, 3e7, 1e9}) {
        const Shards shards = cut({.extent = extent, .granule = granule, .operations = operations});
        EXPECT_LE(shards.count, 32);
        std::int64_t end = 0;
        for (std::int64_t shard = 0; shard < shards.count; ++shard) {
          const Range range = shards.range(shard);
          EXPECT_EQ(range.begin, end);
          EXPECT_GT(range.size, 0);
          end = range.begin + range.size;
          EXPECT_TRUE(end % granule == 0 || end == extent);
        }
        EXPECT_EQ(end, extent);
      }
}

TEST(shards, follow_each_other_and_start_anew_with_each_image) {
  Shards shards = cut({.extent = 23, .operations = 8e7});
  shards.images = 3;
  ASSERT_GT(shards.count, 1);
  for (std::int64_t shard = 0; shard < shards.total(); ++shard) {
    const Range range = shards.range(shard);
    EXPECT_EQ(shards.image(shard), shard / shards.count);
    const bool last = (shard + 1) % shards.count == 0;
    EXPECT_EQ(range.begin + range.size, last ? 23 : shards.range(shard + 1).begin);
  }
}

// The larger part that two threads have, each taking the next shard once it is free.
std::int64_t larger_of_two(const Shards& shards) {
  std::int64_t first = 0, second = 0;
  for (std::int64_t shard = 0; shard < shards.count; ++shard)
    (first <= second ? first : second) += shards.range(shard).size;
  return std::max(first, second);
}

TEST(shards, keep_two_threads_alike_busy) {
  for (std::int64_t extent = 2; extent < 200; ++extent)
    for (const double operations : {5e6, 1e7, 2e7, 3e7, 5e7, 7e7, 1.3e8, 1e9}) {
      const Shards shards = cut({.extent = extent, .operations = operations});
      EXPECT_LE(larger_of_two(shards), extent / 2 + 1) << extent << " of " << operations;
    }
}

TEST(shards, reach_what_the_window_covers_and_say_what_lies_outside) {
  const Reach reach{.stride = 2, .taps = 3, .pad = 1, .extent = 8};  // gives 4 rows and uses 0 to 7
  EXPECT_EQ(reach.of({0, 1}).begin, 0);
  EXPECT_EQ(reach.of({0, 1}).size, 2);
  EXPECT_EQ(reach.pad_before({0, 1}), 1);
  EXPECT_EQ(reach.pad_behind({0, 1}), 0);
  EXPECT_EQ(reach.of({1, 3}).begin, 1);
  EXPECT_EQ(reach.of({1, 3}).size, 7);
  EXPECT_EQ(reach.pad_before({1, 3}), 0);
  const Reach wider{.stride = 1, .taps = 5, .pad = 2, .extent = 8};
  EXPECT_EQ(wider.of({6, 2}).size, 4);
  EXPECT_EQ(wider.pad_behind({6, 2}), 2);
}

}  // namespace
}  // namespace narrowgauge::cpu::shards_test
