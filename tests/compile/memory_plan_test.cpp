// SPDX-License-Identifier: Apache-2.0
#include "compile/memory_plan.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace narrowgauge::memory_plan_test {
namespace {

std::vector<BufferRequest> random_buffers(std::uint64_t seed, int count) {
  const RandomStream random(seed, "buffers");
  std::vector<BufferRequest> buffers;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(4 * i);
    const int first = static_cast<int>(random.bits(at) % 50);
    const int length = static_cast<int>(random.bits(at + 1) % 12);
    buffers.push_back({1 + random.bits(at + 2) % 5000, first, first + length, 0});
  }
  return buffers;
}

TEST(memory_plan, buffers_that_live_at_once_never_overlap) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto buffers = random_buffers(seed, 80);
    const std::int64_t total = place_buffers(buffers);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const BufferRequest& a = buffers[i];
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_LE(a.offset + a.bytes, total);
      for (std::size_t k = 0; k < i; ++k) {
        const BufferRequest& b = buffers[k];
        const bool together = a.first <= b.last && b.first <= a.last;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        EXPECT_TRUE(!together || apart) << seed << ": " << i << " and " << k;
      }
    }
    EXPECT_GE(total, peak_bytes(buffers));
  }
}

TEST(memory_plan, a_chain_needs_no_more_than_its_peak) {
  std::vector<BufferRequest> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back({4096, i, i + 1, 0});
  EXPECT_EQ(peak_bytes(buffers), 2 * 4096);
  EXPECT_EQ(place_buffers(buffers), 2 * 4096);
}

}  // namespace
}  // namespace narrowgauge::memory_plan_test
