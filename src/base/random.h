// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: a number is a function of (key, counter), whatever thread asks.
// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace narrowgauge {

using RandomBlock = std::array<std::uint32_t, 4>;

RandomBlock philox(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_low);

// FNV-1a of the bytes: the same on every run and machine.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325ULL);

// A stream of numbers named by (seed, name, step); element i always gets the same number.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t step = 0);
  // The stream whose key() and step() are these.
  static RandomStream of_key(std::uint64_t key, std::uint64_t step) { return {key, step}; }
  RandomBlock block(std::uint64_t index) const;  // the bits of elements 4 * index and on
  std::uint32_t bits(std::uint64_t element) const;
  // 16 bits for each element: two elements share one number.
  std::uint32_t short_bits(std::uint64_t element) const {
    return bits(element / 2) >> (16 * (element % 2)) & 0xffff;
  }
  float uniform(std::uint64_t element) const;               // [0, 1), 24 bits
  float normal(std::uint64_t element) const;                // mean 0, variance 1 (Box-Muller)
  std::array<float, 4> normals(std::uint64_t index) const;  // of elements 4 * index and on
  // block(index) is philox(key(), step(), index).
  std::uint64_t key() const { return key_; }
  std::uint64_t step() const { return step_; }

 private:
  RandomStream(std::uint64_t key, std::uint64_t step) : key_(key), step_(step) {}
  std::uint64_t key_, step_;
};

}  // namespace narrowgauge
