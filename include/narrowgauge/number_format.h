// SPDX-License-Identifier: Apache-2.0
// The number formats as bit patterns: what a number becomes in each, its neighbours there, and how
// many of a set of numbers a format would round, flush to zero or overflow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "narrowgauge/export.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// What a number beyond the largest becomes.
enum class Beyond : std::uint8_t { infinity, nan, largest };

// f64 ... f4e2m1, tf32 among them, and i8, whose seven bits of magnitude count as fraction.
struct NG_API NumberFormat {
  std::string_view name;
  std::optional<DType> dtype;  // none for tf32
  bool has_sign = true;
  int exponent_bits = 0, fraction_bits = 0;
  double largest = 0, least_normal = 0, least = 0;  // least: of what is above 0
  Beyond beyond = Beyond::infinity;
  int bits() const { return (has_sign ? 1 : 0) + exponent_bits + fraction_bits; }
  bool is_float() const { return exponent_bits > 0; }
};

NG_API std::span<const NumberFormat> number_formats();
NG_API const NumberFormat* find_number_format(std::string_view name);  // nullptr: there is none

// to_pattern() gives a number's bits, rounded once to nearest even; from_pattern() the reverse.
NG_API std::uint64_t to_pattern(const NumberFormat& format, double value);
NG_API double from_pattern(const NumberFormat& format, std::uint64_t pattern);

// The numbers (or infinities) next to a number of the format; none at the ends and beside NaN.
struct Neighbours {
  std::optional<double> below, above;
};
NG_API Neighbours neighbours(const NumberFormat& format, double number);
// The distance from a finite number to the next larger magnitude; for the largest number, from the
// one before.
NG_API double step_at(const NumberFormat& format, double number);

// What happens to a number: `subnormal` is rounded with fewer bits than the format has, `saturated`
// and `overflow` are too large, `lost` has no counterpart: NaN in f4e2m1 and i8, and values that
// are not positive in f8e8m0.
enum class Fate : std::uint8_t { exact, rounded, subnormal, flushed, saturated, overflow, lost };
inline constexpr int fate_count = 7;
NG_API Fate fate(const NumberFormat& format, double value);

// How many of the values of a tensor have each fate; NaN and infinities are not counted.
using FateCounts = std::array<std::int64_t, fate_count>;
NG_API FateCounts count_fates(const NumberFormat& format, const Tensor& values, double scale = 1);

// How many values lie in each binary exponent: 2^e <= |x| < 2^(e + 1).
struct NG_API ExponentHistogram {
  static constexpr int least = -150, most = 128;  // what lies outside counts there
  std::array<std::int64_t, most - least + 1> counts{};
  std::int64_t zeros = 0, infinities = 0, nans = 0;

  std::int64_t& at(int exponent) { return counts[static_cast<std::size_t>(exponent - least)]; }
  std::int64_t at(int exponent) const { return counts[static_cast<std::size_t>(exponent - least)]; }
  void add(const Tensor& values, double scale = 1);
  std::int64_t total() const;
};

}  // namespace narrowgauge
