// SPDX-License-Identifier: Apache-2.0
#include "base/hash/xxh64.h"

#include <array>
#include <bit>
#include <cstring>

namespace narrowgauge {
namespace {

constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F,
                        prime3 = 0x165667B19E3779F9, prime4 = 0x85EBCA77C2B2AE63,
                        prime5 = 0x27D4EB2F165667C5;

template <class T>
T load(const std::byte* bytes) {  // little-endian, as the machine is
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t lane) {
  return std::rotl(sum + lane * prime2, 31) * prime1;
}

// Takes in stripes of four lanes from `at` on, and moves it behind them.
std::uint64_t hash_of_stripes(const std::byte*& at, const std::byte* end, std::uint64_t seed) {
  constexpr std::ptrdiff_t stripe = 32;
  std::array<std::uint64_t, 4> sums{seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
  for (; end - at >= stripe; at += stripe)
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = mixed(sums[i], load<std::uint64_t>(at + 8 * i));
  std::uint64_t hash = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) +
                       std::rotl(sums[3], 18);
  for (const std::uint64_t sum : sums) hash = (hash ^ mixed(0, sum)) * prime1 + prime4;
  return hash;
}

std::uint64_t avalanche(std::uint64_t hash) {
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  std::uint64_t hash = bytes.size() >= 32 ? hash_of_stripes(at, end, seed) : seed + prime5;
  hash += bytes.size();
  for (; end - at >= 8; at += 8)
    hash = std::rotl(hash ^ mixed(0, load<std::uint64_t>(at)), 27) * prime1 + prime4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * prime1, 23) * prime2 + prime3;
    at += 4;
  }
  for (; at != end; ++at)
    hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(*at) * prime5, 11) * prime1;
  return avalanche(hash);
}

}  // namespace narrowgauge
