// SPDX-License-Identifier: Apache-2.0
#include "base/hash/xxh64.h"

#include <gtest/gtest.h>

#include <vector>

namespace narrowgauge::xxh64_test {
namespace {

std::vector<std::byte> pattern(std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(7 * i + 3);
  return bytes;
}

struct Expected {
  std::size_t length;
  std::uint64_t hash, seeded;
};

// Hashes of the reference implementation, by Python's xxhash.
constexpr Expected of_patterns[] = {
    {0, 0xef46db3751d8e999, 0xc4349fc93c010000},   {1, 0x1f25c8d0bc1f4bb6, 0x79826bcd749d267a},
    {3, 0x31d2363f52e564c9, 0x78efd77575e26575},   {4, 0x9bb64b7d66ee9fda, 0x6f0a6c97d68bf353},
    {7, 0x9a7b149959ce60d8, 0xd97ede93c9d66a0d},   {8, 0xdab99d95c6f90092, 0xa2f1e28437a78a1b},
    {11, 0x7a52cc9457cf1a1f, 0x8d2b0d24762d2b6e},  {12, 0xd52e407833af5133, 0xbcc9f0d616ff9a7b},
    {31, 0xa2aa5f33cc4a6119, 0x755437271d1d0a84},  {32, 0x23c3c17ef790fd97, 0xbf624b932c090428},
    {33, 0x50a7cfc7ba588784, 0x7aceaf1e9d34ea35},  {63, 0x5e3e54b431c7493c, 0x2c8ddce5c85d0d9d},
    {64, 0x0eb64b3ef6eeb01f, 0x4af341f14e3a6fc9},  {100, 0xa61f8d4c170fe531, 0xf6d8f65c625abb4f},
    {1000, 0x5f235fa033f1a3fb, 0x442acd0a822e86f6}};

TEST(xxh64, is_the_hash_of_the_reference_implementation) {
  for (const Expected& each : of_patterns) {
    EXPECT_EQ(xxh64(pattern(each.length)), each.hash) << each.length;
    EXPECT_EQ(xxh64(pattern(each.length), 0x9e3779b97f4a7c15), each.seeded) << each.length;
  }
}

}  // namespace
}  // namespace narrowgauge::xxh64_test
