// SPDX-License-Identifier: Apache-2.0
// How often values of each size were seen: counts in bins whose borders are the floats with seven
// bits of fraction. Only whole numbers are added up, so that parts may be merged in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace narrowgauge {

// Values in [low, high] and how many they are. A border between two bins belongs to the one
// farther from 0; the outermost bins end at the least and the most value.
struct HistogramBin {
  float low = 0, high = 0;
  std::int64_t count = 0;
  bool operator==(const HistogramBin&) const = default;
};

class Histogram {
 public:
  // A bin by its place: 0 is zero itself, p > 0 holds the values whose upper 16 bits are p - 1, and
  // -p those of p with the other sign.
  struct Entry {
    std::int32_t place = 0;
    std::int64_t count = 0;
    bool operator==(const Entry&) const = default;
  };
  static constexpr std::int32_t last_place = 0x7f80;  // of the largest finite values

  void add(std::span<const float> values);
  void merge(const Histogram& other);

  std::int64_t count() const;  // of finite values
  bool is_empty() const { return entries_.empty(); }
  float least() const { return least_; }  // of the finite values; 0 where there are none
  float most() const { return most_; }    // the same
  std::int64_t nans() const { return nans_; }
  std::int64_t infinities() const { return infinities_; }  // of both signs

  std::vector<HistogramBin> bins() const;                      // ascending, none is empty
  std::span<const Entry> entries() const { return entries_; }  // the same by place
  // The histogram of the absolute values, whose least() is no more than the least of them.
  Histogram magnitudes() const;
  // The histogram from what entries(), least() and so on gave. Throws UsageError where no values
  // can have given them.
  static Histogram of(std::vector<Entry> entries, float least, float most, std::int64_t nans,
                      std::int64_t infinities);

  bool operator==(const Histogram&) const = default;

 private:
  void merge(std::span<const Entry> entries);

  std::vector<Entry> entries_;  // ascending by place
  float least_ = 0, most_ = 0;  // never -0
  std::int64_t nans_ = 0, infinities_ = 0;
};

}  // namespace narrowgauge
