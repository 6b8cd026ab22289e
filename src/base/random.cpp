// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <cmath>
#include <numbers>

namespace narrowgauge {
namespace {

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

}  // namespace

RandomBlock philox(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_low) {
  RandomBlock x{low(counter_low), high(counter_low), low(counter_high), high(counter_high)};
  std::uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {high(b) ^ x[1] ^ k0, low(b), high(a) ^ x[3] ^ k1, low(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// The key is a block of Philox itself: with FNV alone, other seeds and names would share streams.
RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t step)
    : step_(step) {
  const RandomBlock block = philox(seed, stable_hash(name), 0);
  key_ = std::uint64_t{block[1]} << 32 | block[0];
}

RandomBlock RandomStream::block(std::uint64_t index) const { return philox(key_, step_, index); }

std::uint32_t RandomStream::bits(std::uint64_t element) const {
  return block(element / 4)[element % 4];
}

float RandomStream::uniform(std::uint64_t element) const {
  return static_cast<float>(bits(element) >> 8) * 0x1p-24F;
}

float RandomStream::normal(std::uint64_t element) const {
  return normals(element / 4)[element % 4];
}

std::array<float, 4> RandomStream::normals(std::uint64_t index) const {
  const RandomBlock four = block(index);
  std::array<float, 4> values{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double radius_source = (four[pair] + 1.0) * 0x1p-32;  // (0, 1]
    const double angle = 2 * std::numbers::pi * 0x1p-32 * four[pair + 1];
    const double radius = std::sqrt(-2 * std::log(radius_source));
    values[pair] = static_cast<float>(radius * std::cos(angle));
    values[pair + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return values;
}

}  // namespace narrowgauge
