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
  std::string_view name;                            // "f8e4m3fn", "tf32"
  std::optional<DType> dtype;                       // none for tf32
  bool has_sign = true;                             // false for f8e8m0
  int exponent_bits = 0, fraction_bits = 0;         // stored; i8 has no exponent
  double largest = 0, least_normal = 0, least = 0;  // least: of what is above 0
  Beyond beyond = Beyond::infinity;                 // what becomes of numbers past `largest`
  // The bits of a number in all: 19 for tf32.
  int bits() const { return (has_sign ? 1 : 0) + exponent_bits + fraction_bits; }
  bool is_float() const { return exponent_bits > 0; }  // whether it has an exponent: all but i8
};

// f64, f32, tf32, bf16, f16, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4e2m1 and i8; they
// live as long as the program.
NG_API std::span<const NumberFormat> number_formats();
NG_API const NumberFormat* find_number_format(std::string_view name);  // nullptr: there is none

// to_pattern() gives a number's bits, rounded once to nearest even; from_pattern() the reverse.
NG_API std::uint64_t to_pattern(const NumberFormat& format, double value);
// The number that the low bits of a pattern mean in the format; exact, may be infinite or NaN.
NG_API double from_pattern(const NumberFormat& format, std::uint64_t pattern);

// The numbers (or infinities) next to a number of the format; none at the ends and beside NaN.
struct Neighbours {
  std::optional<double> below, above;  // the next smaller number, the next larger
};
// The neighbours of `number`, which must be one of the format's numbers.
NG_API Neighbours neighbours(const NumberFormat& format, double number);
// The distance from a finite number to the next larger magnitude; for the largest number, from the
// one before.
NG_API double step_at(const NumberFormat& format, double number);

// What happens to a number: `subnormal` is rounded with fewer bits than the format has, `saturated`
// and `overflow` are too large, `lost` has no counterpart: NaN in f4e2m1 and i8, and values that
// are not positive in f8e8m0.
enum class Fate : std::uint8_t { exact, rounded, subnormal, flushed, saturated, overflow, lost };
inline constexpr int fate_count = 7;  // how many fates there are
// What happens to a value that is rounded once to nearest even. Infinity and NaN are `exact` where
// the format has them.
NG_API Fate fate(const NumberFormat& format, double value);

// How many of the values of a tensor have each fate; NaN and infinities are not counted.
using FateCounts = std::array<std::int64_t, fate_count>;
// How many of a tensor's values, each times `scale` and then finite, have each fate; the index is
// the Fate.
NG_API FateCounts count_fates(const NumberFormat& format, const Tensor& values, double scale = 1);

// How many values lie in each binary exponent: 2^e <= |x| < 2^(e + 1).
struct NG_API ExponentHistogram {
  static constexpr int least = -150, most = 128;  // what lies outside counts there
  // The counts of finite values other than 0, from exponent `least` on.
  std::array<std::int64_t, most - least + 1> counts{};
  std::int64_t zeros = 0, infinities = 0, nans = 0;  // values without an exponent

  // The count of an exponent, which must be in least ... most.
  std::int64_t& at(int exponent) { return counts[static_cast<std::size_t>(exponent - least)]; }
  // The count of an exponent, which must be in least ... most.
  std::int64_t at(int exponent) const { return counts[static_cast<std::size_t>(exponent - least)]; }
  void add(const Tensor& values, double scale = 1);  // counts each value times `scale`
  std::int64_t total() const;                        // all values added, NaN among them
};

}  // namespace narrowgauge
