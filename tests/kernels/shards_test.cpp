// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/shards.h"

#include <gtest/gtest.h>

namespace narrowgauge::cpu {
namespace {

TEST(Shards, CoverTheExtentInMultiplesOfTheGranule) {
  for (std::int64_t extent = 1; extent < 200; ++extent)
    for (const std::int64_t granule : {1, 8, 64})
      for (const double operations : {0.0, 1e7, 3e7, 1e9}) {
        const Shards shards = cut({.extent = extent,
                                   .granule = granule,
                                   .operations = operations,
                                   .deterministic = true,
                                   .threads = 2});
        EXPECT_GE(shards.each * shards.count, extent);
        EXPECT_LT(shards.each * (shards.count - 1), extent);
        EXPECT_TRUE(shards.each % granule == 0 || shards.each == extent);
        EXPECT_LE(shards.count, 32);
        EXPECT_LE(shards.at_once, shards.count);
      }
}

TEST(Shards, DoNotDependOnTheNumberOfThreadsWhenDeterministic) {
  for (std::int64_t extent = 1; extent < 200; ++extent)
    for (const double operations : {0.0, 1e6, 3e7, 1e9})
      for (const int threads : {2, 7, 64}) {
        ShardRequest request{.extent = extent, .operations = operations, .deterministic = true};
        const Shards one = cut(request);
        request.threads = threads;
        const Shards many = cut(request);
        EXPECT_EQ(one.each, many.each);
        EXPECT_EQ(one.count, many.count);
        EXPECT_EQ(many.threads_each, 1);
      }
}

TEST(Shards, LittleWorkTakesFewThreadsAndMuchInOnePieceTakesAll) {
  const Shards little = cut({.extent = 1, .operations = 1e5, .threads = 8});
  EXPECT_EQ(little.threads_each, 1);
  const Shards much = cut({.extent = 1, .operations = 1e9, .threads = 8});
  EXPECT_EQ(much.threads_each, 8);
  EXPECT_EQ(much.count, 1);
}

}  // namespace
}  // namespace narrowgauge::cpu
