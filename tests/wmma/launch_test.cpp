// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/wmma/launch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "narrowgauge/wmma.hpp"

namespace narrowgauge::test::launch_test {
namespace {

namespace wmma = narrowgauge::wmma;
using wmma::half;

// Each warp adds what it finds in the next one's place, between barriers: a ring of sums.
NG_KERNEL void pass_on(int rounds, int* result) {
  NG_SHARED(int, place, [32]);
  place[wmma::warp_rank()] = wmma::warp_rank();
  for (int i = 0; i < rounds; ++i) {
    wmma::sync_threads();
    const int next = place[(wmma::warp_rank() + 1) % wmma::warp_count()];
    wmma::sync_threads();
    place[wmma::warp_rank()] = next;
  }
  wmma::sync_threads();
  const wmma::dim3 block = wmma::block_index(), grid = wmma::grid_size();
  const unsigned number = block.x + grid.x * (block.y + grid.y * block.z);
  for (int i = wmma::thread_rank(); i < wmma::warp_count(); i += wmma::thread_count())
    result[static_cast<int>(number) * wmma::warp_count() + i] = place[i];
}

TEST(wmma_launch, warps_of_a_block_meet_at_barriers_and_share_memory) {
  const wmma::dim3 blocks(3, 2, 4);
  for (const int warps : {1, 4, 32}) {
    std::vector<int> result(static_cast<std::size_t>(24 * warps), -1);
    wmma::launch(blocks, 32 * static_cast<unsigned>(warps), pass_on, 5, result.data());
    for (int block = 0; block < 24; ++block)
      for (int warp = 0; warp < warps; ++warp)
        ASSERT_EQ(result[static_cast<std::size_t>(block * warps + warp)], (warp + 5) % warps);
  }
}

NG_KERNEL void count_lanes(std::atomic<int>* count, int lanes) {
  for (int i = wmma::lane_rank(); i < lanes; i += wmma::lane_count()) ++*count;
}

TEST(wmma_launch, a_loop_over_lanes_passes_every_element_once_a_warp) {
  std::atomic<int> count = 0;
  wmma::launch({2, 2}, 64, count_lanes, &count, 100);
  EXPECT_EQ(count, 4 * 2 * 100);
}

NG_KERNEL void read_shared(float* seen) {
  NG_SHARED(float, memory, [64]);
  NG_DYNAMIC_SHARED(float, more);
  seen[2 * wmma::block_index().x] = memory[63];
  seen[2 * wmma::block_index().x + 1] = more[15];
  memory[63] = more[15] = 1;
}

TEST(wmma_launch, shared_memory_holds_nothing_from_blocks_before) {
  std::vector<float> seen(40, 0.0F);
  wmma::launch(wmma::Grid{20, 32, 64}, read_shared, seen.data());
  for (const float value : seen) ASSERT_TRUE(std::isnan(value));
}

template <int Kind>
NG_KERNEL void fill_by_kind(std::vector<int>* seen) {
  NG_SHARED(int, first, [4]);
  NG_SHARED(int, second, [4]);
  first[0] = Kind, second[0] = -Kind;
  *seen = {first[0], second[0], &first != &second};
}

TEST(wmma_launch, each_declaration_of_shared_memory_is_its_own) {
  std::vector<int> seen;
  wmma::launch(1, 32, fill_by_kind<3>, &seen);
  EXPECT_EQ(seen, (std::vector<int>{3, -3, 1}));
}

NG_KERNEL void fail_in_third_warp(std::atomic<int>* passed) {
  if (wmma::warp_rank() == 3) throw std::runtime_error("third");
  wmma::sync_threads();
  ++*passed;
}

TEST(wmma_launch, a_warp_that_throws_ends_the_launch_with_its_exception_and_nobody_waits) {
  std::atomic<int> passed = 0;
  EXPECT_THROW(wmma::launch(1, 256, fail_in_third_warp, &passed), std::runtime_error);
  EXPECT_EQ(passed, 7);
}

NG_KERNEL void return_early(std::atomic<int>* passed) {
  if (wmma::warp_rank() % 2) return;
  for (int i = 0; i < 10; ++i) wmma::sync_threads();
  ++*passed;
}

TEST(wmma_launch, warps_that_have_returned_are_not_waited_for) {
  std::atomic<int> passed = 0;
  wmma::launch(6, 128, return_early, &passed);
  EXPECT_EQ(passed, 12);
}

TEST(wmma_launch, blocks_are_whole_warps) {
  std::vector<int> result(64);
  for (const unsigned threads : {0U, 16U, 33U, 1056U})
    EXPECT_THROW(wmma::launch(1, threads, pass_on, 1, result.data()), std::invalid_argument);
  EXPECT_NO_THROW(wmma::launch(0, 32, pass_on, 1, result.data()));
}

NG_KERNEL void note_unit(MatrixUnit* units) { units[wmma::warp_rank()] = *wmma::executing_unit(); }

TEST(wmma_launch, warps_compute_as_the_unit_of_their_caller) {
  std::vector<MatrixUnit> units(4);
  const wmma::UnitScope scope(MatrixUnit::v100);
  wmma::launch(1, 128, note_unit, units.data());
  EXPECT_EQ(units, std::vector<MatrixUnit>(4, MatrixUnit::v100));
}

TEST(wmma_launch, shared_memory_needs_a_launch) {
  std::vector<float> seen(2);
  EXPECT_THROW(read_shared(seen.data()), std::logic_error);
}

// The same tile by 1 warp and by 8 that each take a part of k's outputs: the order is the kernel's.
NG_KERNEL void tiles(const half* a, const half* b, float* c) {
  for (int i = wmma::warp_rank(); i < 16; i += wmma::warp_count()) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0F);
    for (int k = 0; k < 4; ++k) {
      wmma::load_matrix_sync(left, a + i / 4 * 16 * 64 + k * 16, 64);
      wmma::load_matrix_sync(right, b + k * 16 * 64 + i % 4 * 16, 64);
      wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + i / 4 * 16 * 64 + i % 4 * 16, sum, 64, wmma::mem_row_major);
  }
}

TEST(wmma_launch, results_do_not_depend_on_the_number_of_warps) {
  wmma::ManagedArray<half> a(4096), b(4096);
  wmma::ManagedArray<float> one(4096), many(4096);
  for (std::size_t i = 0; i < 4096; ++i) {
    a[i] = std::sin(static_cast<float>(i));
    b[i] = std::cos(static_cast<float>(3 * i));
  }
  wmma::launch(1, 32, tiles, a.data(), b.data(), one.data());
  wmma::launch(1, 256, tiles, a.data(), b.data(), many.data());
  for (std::size_t i = 0; i < 4096; ++i) ASSERT_EQ(one[i], many[i]);
  double expected = 0;
  for (std::size_t k = 0; k < 64; ++k)
    expected += double{static_cast<float>(a[7 * 64 + k])} * static_cast<float>(b[k * 64 + 50]);
  EXPECT_NEAR(one[7 * 64 + 50], expected, 1e-5);
}

}  // namespace
}  // namespace narrowgauge::test::launch_test
