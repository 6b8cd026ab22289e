// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn/shards.h"

#include <gtest/gtest.h>

namespace narrowgauge::cpu {
namespace {

TEST(shards, cover_the_extent_in_multiples_of_the_granule) {
  for (std::int64_t extent = 1; extent < 200; ++extent)
    for (const std::int64_t granule : {1, 8, 64})
      for (const double operations : {0.0, 1e7, 3e7, 1e9}) {
        const Shards shards = cut({.extent = extent, .granule = granule, .operations = operations});
        EXPECT_GE(shards.each * shards.count, extent);
        EXPECT_LT(shards.each * (shards.count - 1), extent);
        EXPECT_TRUE(shards.each % granule == 0 || shards.each == extent);
        EXPECT_LE(shards.count, 32);
      }
}

TEST(shards, follow_each_other_and_start_anew_with_each_image) {
  Shards shards = cut({.extent = 23, .operations = 8e7});
  shards.images = 3;
  ASSERT_GT(shards.count, 1);
  for (std::int64_t shard = 0; shard < shards.total(); ++shard) {
    const Range range = shards.range(shard);
    EXPECT_EQ(shards.image(shard), shard / shards.count);
    EXPECT_EQ(range.begin, shard % shards.count * shards.each);
    const bool last = (shard + 1) % shards.count == 0;
    EXPECT_EQ(range.begin + range.size, last ? 23 : shards.range(shard + 1).begin);
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
}  // namespace narrowgauge::cpu
