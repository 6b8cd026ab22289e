// SPDX-License-Identifier: Apache-2.0
#include "quantize/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/unloading.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

constexpr std::uint32_t sign_bit = 0x80000000, infinity_bits = 0x7f800000;
constexpr int bin_shift = 16;
constexpr std::size_t bins_of_sign = std::size_t{1} << (31 - bin_shift);

// Whole numbers in the order of the values they stand for, which no mode of the CPU flushes to 0.
std::int32_t key_of(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & std::numeric_limits<std::int32_t>::max());
}

float value_of(std::int32_t key) {
  const auto bits = static_cast<std::uint32_t>(key < 0 ? ~key : key);
  if (bits == 0) return 0;  // -0 too
  return std::bit_cast<float>(key < 0 ? bits | sign_bit : bits);
}

std::int32_t place_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~sign_bit;
  if (magnitude == 0) return 0;
  const auto place = static_cast<std::int32_t>(magnitude >> bin_shift) + 1;
  return bits == magnitude ? place : -place;
}

// The end of a bin that is nearer to 0.
float inner_border(std::int32_t place) {
  const auto bits = static_cast<std::uint32_t>(std::abs(place) - 1) << bin_shift;
  const auto value = std::bit_cast<float>(bits);
  return place < 0 ? -value : value;
}

// Facts of values that their bins do not tell. Keys are moved so that those of NaN and infinities
// wrap round to numbers that are neither the least nor the most: without a branch, for vectors.
struct Extremes {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
  std::int64_t zeros = 0, infinities = 0;

  void add(std::span<const float> values);
  float least_value() const { return value_of(static_cast<std::int32_t>(least - infinity_bits)); }
  float most_value() const { return value_of(static_cast<std::int32_t>(most + infinity_bits)); }
};

void Extremes::add(std::span<const float> values) {
  std::uint32_t low = least, high = most;
  std::int32_t zero = 0, infinite = 0;
  for (const float value : values) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & ~sign_bit;
    const auto key = static_cast<std::uint32_t>(key_of(value));
    low = std::min(low, key + infinity_bits);
    high = std::max(high, key - infinity_bits);
    zero += magnitude == 0 ? 1 : 0;
    infinite += magnitude == infinity_bits ? 1 : 0;
  }
  least = low, most = high;
  zeros += zero, infinities += infinite;
}

// Counts by the upper half of the bits, those of one part of all values at a time. All 0 between
// uses but for the bins behind them, which zeros go to by turns: one that follows another closely
// would wait for it.
using Table = std::vector<std::uint32_t>;
constexpr std::size_t zero_bins = 64;

// A table for one use; the next use takes it again, unless this one ends in an exception. It is no
// thread's own: a thread that has destructors left to call keeps the library from being unloaded.
class LentTable {
 public:
  LentTable() : idle_(idle_tables()) {
    const std::lock_guard lock(idle_.mutex);
    if (idle_.tables.empty()) {
      idle_.tables.reserve(++idle_.all);
      table_.resize(2 * bins_of_sign + zero_bins);
    } else {
      table_ = std::move(idle_.tables.back());
      idle_.tables.pop_back();
    }
  }
  Table& operator*() { return table_; }
  void give_back() noexcept {
    const std::lock_guard lock(idle_.mutex);
    idle_.tables.push_back(std::move(table_));
  }

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<Table> tables;
    std::size_t all = 0;  // that may come back, for which there is room
  };
  static Idle& idle_tables() {
    static Idle& idle = immortal<Idle>();
    return idle;
  }

  Idle& idle_;
  Table table_;
};

constexpr std::size_t piece = 4096;  // what the first cache holds, and 32 bits count

void fill(Table& table, std::span<const float> values) {
  std::array<std::uint32_t, piece> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const auto zero_bin = static_cast<std::uint32_t>(2 * bins_of_sign + i % zero_bins);
    places[i] = (bits & ~sign_bit) == 0 ? zero_bin : bits >> bin_shift;
  }
  for (std::size_t i = 0; i < values.size(); ++i) ++table[places[i]];
}

// The places with counts of one sign of a table, which is emptied; NaN and infinities among them.
std::vector<Histogram::Entry> take(Table& table, bool negative) {
  constexpr std::size_t block = 32;  // mostly empty, which vectors see at once
  const auto counts = std::span(table).subspan(negative ? bins_of_sign : 0, bins_of_sign);
  std::vector<Histogram::Entry> entries;
  for (std::size_t begin = 0; begin < bins_of_sign; begin += block) {
    std::uint32_t any = 0;
    for (std::size_t i = begin; i < begin + block; ++i) any |= counts[i];
    if (any == 0) continue;
    for (std::size_t i = begin; i < begin + block; ++i)
      if (counts[i] != 0) {
        entries.push_back({static_cast<std::int32_t>(i) + 1, counts[i]});
        counts[i] = 0;
      }
  }
  return entries;
}

// Removes NaN and infinities, and returns how many they were.
std::int64_t take_not_finite(std::vector<Histogram::Entry>& entries) {
  std::int64_t count = 0;
  for (; !entries.empty() && entries.back().place > Histogram::last_place; entries.pop_back())
    count += entries.back().count;
  return count;
}

// Places of positive values as those of negative ones, and the reverse.
void flip(std::vector<Histogram::Entry>& entries) {
  std::ranges::reverse(entries);
  for (Histogram::Entry& entry : entries) entry.place = -entry.place;
}

}  // namespace

void Histogram::add(std::span<const float> values) {
  constexpr std::size_t most_at_once = std::size_t{1} << 31;
  for (; values.size() > most_at_once; values = values.subspan(most_at_once))
    add(values.first(most_at_once));
  LentTable lent;
  Table& table = *lent;
  Extremes extremes;
  for (std::size_t begin = 0; begin < values.size(); begin += piece) {
    const auto part = values.subspan(begin, std::min(piece, values.size() - begin));
    extremes.add(part);
    fill(table, part);
  }
  Histogram seen;
  std::vector<Entry> negative = take(table, true), positive = take(table, false);
  lent.give_back();
  const std::int64_t others = take_not_finite(negative) + take_not_finite(positive);
  flip(negative);
  seen.entries_ = std::move(negative);
  if (extremes.zeros > 0) seen.entries_.push_back({0, extremes.zeros});
  seen.entries_.insert(seen.entries_.end(), positive.begin(), positive.end());
  seen.infinities_ = extremes.infinities;
  seen.nans_ = others - extremes.infinities;
  if (!seen.is_empty()) {
    seen.least_ = extremes.least_value();
    seen.most_ = extremes.most_value();
  }
  merge(seen);
}

void Histogram::merge(const Histogram& other) {
  if (!other.is_empty()) {
    least_ = is_empty() || key_of(other.least_) < key_of(least_) ? other.least_ : least_;
    most_ = is_empty() || key_of(other.most_) > key_of(most_) ? other.most_ : most_;
    merge(other.entries_);
  }
  nans_ += other.nans_;
  infinities_ += other.infinities_;
}

void Histogram::merge(std::span<const Entry> entries) {
  std::vector<Entry> merged;
  merged.reserve(entries_.size() + entries.size());
  auto mine = entries_.begin();
  for (const Entry& entry : entries) {
    while (mine != entries_.end() && mine->place < entry.place) merged.push_back(*mine++);
    const bool both = mine != entries_.end() && mine->place == entry.place;
    merged.push_back({entry.place, entry.count + (both ? (mine++)->count : 0)});
  }
  merged.insert(merged.end(), mine, entries_.end());
  entries_ = std::move(merged);
}

std::int64_t Histogram::count() const {
  std::int64_t count = 0;
  for (const Entry& entry : entries_) count += entry.count;
  return count;
}

std::vector<HistogramBin> Histogram::bins() const {
  std::vector<HistogramBin> bins;
  bins.reserve(entries_.size());
  for (const auto& [place, count] : entries_) {
    if (place == 0) {
      bins.push_back({0, 0, count});
      continue;
    }
    const float inner = inner_border(place),
                outer = inner_border(place < 0 ? place - 1 : place + 1);
    bins.push_back({std::min(inner, outer), std::max(inner, outer), count});
  }
  if (!bins.empty()) {
    bins.front().low = least_;
    bins.back().high = most_;
  }
  return bins;
}

Histogram Histogram::magnitudes() const {
  if (is_empty()) return *this;
  const auto negative_end =
      std::ranges::find_if(entries_, [](const Entry& entry) { return entry.place >= 0; });
  Histogram made = *this;
  made.entries_.assign(negative_end, entries_.end());
  std::vector<Entry> negative(entries_.begin(), negative_end);
  flip(negative);
  made.merge(negative);
  const std::int32_t first = made.entries_.front().place;
  const float inner = first == 0 ? 0 : inner_border(first);
  made.least_ = least_ > 0 ? least_ : most_ < 0 ? -most_ : inner;
  made.most_ = std::max(std::abs(least_), std::abs(most_));
  return made;
}

Histogram Histogram::of(std::vector<Entry> entries, float least, float most, std::int64_t nans,
                        std::int64_t infinities) {
  Histogram made;
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [place, count] = entries[i];
    require(std::abs(std::int64_t{place}) <= last_place, "histogram: there is no bin ", place);
    require(i == 0 || entries[i - 1].place < place, "histogram: bin ", place, " is out of order");
    require(count > 0 && count <= room, "histogram: bin ", place, " cannot hold ", count,
            " values");
    room -= count;
  }
  const bool fits = entries.empty() ? least == 0 && most == 0
                                    : place_of(least) == entries.front().place &&
                                          place_of(most) == entries.back().place;
  require(fits && key_of(least) <= key_of(most), "histogram: values from ", double{least}, " to ",
          double{most}, " do not fit its bins");
  require(nans >= 0 && infinities >= 0, "histogram: counts may not be negative");
  made.entries_ = std::move(entries);
  made.least_ = value_of(key_of(least));
  made.most_ = value_of(key_of(most));
  made.nans_ = nans;
  made.infinities_ = infinities;
  return made;
}

}  // namespace narrowgauge
