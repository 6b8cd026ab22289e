// SPDX-License-Identifier: Apache-2.0
// Stretches of memory that are read soon, and which part of them each block brings into L2 while it
// multiplies. Lines that come one after the other are found by the hardware's prefetcher as well:
// then none of them keeps one of the few buffers of L1 for all of its way from memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace narrowgauge::cpu {

class FloatStretches {
 public:
  void add(const float* begin, std::int64_t count) { stretches_[used_++] = {begin, count}; }

  // The place `at` elements behind the first, or `otherwise` behind the last.
  const float* find(std::int64_t at, const float* otherwise) const {
    for (std::size_t i = 0; i < used_; at -= stretches_[i++].count)
      if (at < stretches_[i].count) return stretches_[i].begin + at;
    return otherwise;
  }

 private:
  struct Stretch {
    const float* begin;
    std::int64_t count;
  };
  std::array<Stretch, 4> stretches_;
  std::size_t used_ = 0;
};

}  // namespace narrowgauge::cpu
