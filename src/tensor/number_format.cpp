// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/number_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/indexed_vector.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "tensor/format.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

struct Tf32Layout : Layout<std::uint32_t, 8, 10> {};
constexpr int tf32_dropped = 13;  // bits of f32

NumberFormat of(DType dtype, int exponent_bits, int fraction_bits, Beyond beyond) {
  return {name(dtype),
          dtype,
          true,
          exponent_bits,
          fraction_bits,
          largest_finite(dtype),
          smallest_normal(dtype),
          smallest_subnormal(dtype),
          beyond};
}

std::array<NumberFormat, 12> make_formats() {
  NumberFormat tf32{"tf32", {}, true, 8, 10, 0x1.ffcp127, 0x1p-126, 0x1p-136, Beyond::infinity};
  NumberFormat power = of(DType::f8e8m0, 8, 0, Beyond::nan);
  power.has_sign = false;
  return {of(DType::f64, 11, 52, Beyond::infinity),
          of(DType::f32, 8, 23, Beyond::infinity),
          tf32,
          of(DType::bf16, 8, 7, Beyond::infinity),
          of(DType::f16, 5, 10, Beyond::infinity),
          of(DType::f8e4m3fn, 4, 3, Beyond::nan),
          of(DType::f8e5m2, 5, 2, Beyond::infinity),
          of(DType::f8e4m3fnuz, 4, 3, Beyond::nan),
          of(DType::f8e5m2fnuz, 5, 2, Beyond::nan),
          power,
          of(DType::f4e2m1, 2, 1, Beyond::largest),
          NumberFormat{"i8", DType::i8, true, 0, 7, 127, 0, 1, Beyond::largest}};
}

std::uint64_t sign_of(const NumberFormat& format) {
  return format.has_sign ? std::uint64_t{1} << (format.bits() - 1) : 0;
}

bool is_integer(const NumberFormat& format) { return !format.is_float(); }
bool is_powers(const NumberFormat& format) { return !format.has_sign; }

// The number that a magnitude's bits mean, including infinity; nothing for NaN.
std::optional<double> number_at(const NumberFormat& format, std::uint64_t pattern) {
  const double number = from_pattern(format, pattern);
  if (std::isnan(number)) return {};
  return number;
}

// The next larger magnitude of a number that is not negative.
std::optional<double> outward(const NumberFormat& format, double number) {
  if (std::isinf(number)) return {};
  const std::uint64_t next = to_pattern(format, number) + 1;
  if (next >= (format.has_sign ? sign_of(format) : std::uint64_t{1} << format.bits())) return {};
  return number_at(format, next);
}

// The next smaller magnitude of a positive number.
std::optional<double> inward(const NumberFormat& format, double number) {
  const std::uint64_t pattern = to_pattern(format, number);
  if (pattern == 0) return {};
  return number_at(format, pattern - 1);
}

std::optional<double> negated(std::optional<double> number) {
  if (number) number = -*number;
  return number;
}

}  // namespace

std::span<const NumberFormat> number_formats() {
  static const auto formats = make_formats();
  return formats;
}

const NumberFormat* find_number_format(std::string_view name) {
  const auto formats = number_formats();
  const auto found = std::ranges::find(formats, name, &NumberFormat::name);
  return found == formats.end() ? nullptr : &*found;
}

std::uint64_t to_pattern(const NumberFormat& format, double value) {
  if (!format.dtype)
    return narrow_bits<Tf32Layout, LayoutOf<double>>(std::bit_cast<std::uint64_t>(value),
                                                     shift_nearest_even);
  std::uint64_t pattern = 0;  // little-endian: the element is its low bits
  store_element(*format.dtype, &pattern, 0, value);
  return pattern;
}

double from_pattern(const NumberFormat& format, std::uint64_t pattern) {
  if (!format.dtype)
    return std::bit_cast<float>(static_cast<std::uint32_t>(pattern << tf32_dropped));
  return load_element(*format.dtype, &pattern, 0);
}

Neighbours neighbours(const NumberFormat& format, double number) {
  if (std::isnan(number)) return {};
  if (is_integer(format)) {
    Neighbours found;
    if (number > -format.largest - 1) found.below = number - 1;
    if (number < format.largest) found.above = number + 1;
    return found;
  }
  if (is_powers(format)) return {inward(format, number), outward(format, number)};
  if (number == 0) return {-format.least, format.least};
  if (number > 0) return {inward(format, number), outward(format, number)};
  return {negated(outward(format, -number)), negated(inward(format, -number))};
}

double step_at(const NumberFormat& format, double number) {
  const double magnitude = std::fabs(number);
  const std::optional<double> next =
      is_integer(format) ? magnitude + 1 : outward(format, magnitude);
  if (next && std::isfinite(*next)) return *next - magnitude;
  const std::optional<double> before = inward(format, magnitude);
  return before ? magnitude - *before : 0;
}

Fate fate(const NumberFormat& format, double value) {
  const double number = from_pattern(format, to_pattern(format, value));
  if (std::isnan(value)) return std::isnan(number) ? Fate::exact : Fate::lost;
  if (number == value) return Fate::exact;
  if (is_powers(format) && !(value > 0)) return Fate::lost;
  if (!std::isfinite(number)) return Fate::overflow;
  if (number == 0) return Fate::flushed;
  const double magnitude = std::fabs(value), kept = std::fabs(number);
  const double end = kept + step_at(format, kept) / 2;  // ties would go to the even one beyond
  const bool at_the_end = format.beyond == Beyond::largest && kept >= format.largest;
  if (at_the_end && magnitude >= end) return Fate::saturated;
  return magnitude < format.least_normal ? Fate::subnormal : Fate::rounded;
}

namespace {

// fate() of f32 values by comparing bits, in a format that does not distinguish signs.
class QuickFate {
 public:
  explicit QuickFate(const NumberFormat& format) : beyond_(format.beyond) {
    flushed_below_ = first_of(format, [](Fate f) { return f != Fate::flushed; });
    beyond_from_ =
        first_of(format, [](Fate f) { return f == Fate::overflow || f == Fate::saturated; });
    normal_from_ = std::bit_cast<std::uint32_t>(static_cast<float>(format.least_normal));
    fraction_ = format.fraction_bits >= 23 ? 0 : (1U << (23 - format.fraction_bits)) - 1;
    // Formats with the exponents of f32 have the same subnormals as f32.
    steps_ = format.exponent_bits < 8;
    inverse_ = steps_ ? static_cast<float>(1 / format.least) : 1;
  }

  Fate operator()(float value) const {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0x7fff'ffff;
    if (bits >= beyond_from_) return beyond_ == Beyond::largest ? Fate::saturated : Fate::overflow;
    if (bits == 0) return Fate::exact;
    if (bits < flushed_below_) return Fate::flushed;
    const bool normal = bits >= normal_from_;
    if (normal || !steps_) {
      if ((bits & fraction_) == 0) return Fate::exact;
    } else {
      const float steps = std::bit_cast<float>(bits) * inverse_;
      if (steps == std::trunc(steps)) return Fate::exact;
    }
    return normal ? Fate::rounded : Fate::subnormal;
  }

 private:
  // The least bits above 0 from which on `holds` is true; once true it must stay true.
  template <class Holds>
  static std::uint32_t first_of(const NumberFormat& format, const Holds& holds) {
    std::uint32_t low = 1, high = 0x7f80'0000;  // infinity: taken to hold
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (holds(fate(format, double{std::bit_cast<float>(middle)})))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  Beyond beyond_;
  std::uint32_t flushed_below_, beyond_from_, normal_from_, fraction_;
  bool steps_;
  float inverse_;
};

constexpr std::int64_t piece = 1 << 15;

// Calls body(values, count, part) for pieces as f32, or as doubles if f32 cannot hold them.
template <class Body>
void each_piece(const Tensor& values, double scale, const Body& body) {
  const std::int64_t count = values.size();
  parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      body(load_element(values.dtype(), values.data(), i) * scale, begin / piece);
  });
}

std::int64_t pieces_of(const Tensor& values) { return (values.size() + piece - 1) / piece; }

bool is_f32(double value) { return double{static_cast<float>(value)} == value; }

}  // namespace

FateCounts count_fates(const NumberFormat& format, const Tensor& values, double scale) {
  const FloatingEnvironment environment(Subnormals::keep);
  IndexedVector<std::int64_t, FateCounts> parts(pieces_of(values));
  const bool quick = format.is_float() && format.has_sign && format.exponent_bits <= 8;
  const auto quick_fate = quick ? std::optional<QuickFate>(format) : std::nullopt;
  each_piece(values, scale, [&](double value, std::int64_t part) {
    if (!std::isfinite(value)) return;
    const Fate found =
        quick && is_f32(value) ? (*quick_fate)(static_cast<float>(value)) : fate(format, value);
    ++parts[part][static_cast<std::size_t>(found)];
  });
  FateCounts all{};
  for (const FateCounts& counts : parts)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += counts[i];
  return all;
}

void ExponentHistogram::add(const Tensor& values, double scale) {
  IndexedVector<std::int64_t, ExponentHistogram> parts(pieces_of(values));
  each_piece(values, scale, [&](double value, std::int64_t part) {
    ExponentHistogram& to = parts[part];
    if (value == 0)
      ++to.zeros;
    else if (std::isfinite(value))
      ++to.at(std::clamp(std::ilogb(value), least, most));
    else
      ++(std::isnan(value) ? to.nans : to.infinities);
  });
  for (const ExponentHistogram& from : parts) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += from.counts[i];
    zeros += from.zeros;
    infinities += from.infinities;
    nans += from.nans;
  }
}

std::int64_t ExponentHistogram::total() const {
  std::int64_t sum = zeros + infinities + nans;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

}  // namespace narrowgauge
