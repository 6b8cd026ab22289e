// SPDX-License-Identifier: Apache-2.0
#include "tensor/values.h"

#include <type_traits>

#include "tensor/format.h"

namespace narrowgauge {
namespace {

template <class Narrow, class Wide, class Round>
Narrow narrow_with(Wide value, Round round) {
  using From = LayoutOf<Wide>;
  using To = LayoutOf<Narrow>;
  return std::bit_cast<Narrow>(
      narrow_bits<To, From>(std::bit_cast<typename From::Storage>(value), round));
}

// Every value of these formats is zero or a normal float, so the product is exact.
template <class Narrow>
float widen_small(Narrow value) {
  using From = LayoutOf<Narrow>;
  using To = LayoutOf<float>;
  constexpr int more_bits = To::mantissa_bits - From::mantissa_bits;
  const std::uint32_t magnitude = value.bits & static_cast<std::uint32_t>(From::sign - 1);
  const std::uint32_t sign = value.bits & From::sign ? 0x8000'0000U : 0;
  std::uint32_t bits = magnitude << more_bits;
  const bool is_nan = From::has_infinity        ? magnitude > From::all_exponent
                      : From::has_negative_zero ? magnitude == From::quiet_nan
                                                : value.bits == From::quiet_nan;
  if (From::has_nan && is_nan) {
    bits |= static_cast<std::uint32_t>(To::quiet_nan);
  } else if (From::has_infinity && magnitude == From::infinite) {
    bits = static_cast<std::uint32_t>(To::infinite);
  } else if (magnitude >= From::implicit_one) {
    bits += static_cast<std::uint32_t>(From::smallest_exponent - To::smallest_exponent)
            << To::mantissa_bits;
  } else {
    constexpr int lowest = From::smallest_exponent - From::mantissa_bits;
    constexpr auto unit =
        std::bit_cast<float>(static_cast<std::uint32_t>(lowest + 127) << To::mantissa_bits);
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * unit);
  }
  return std::bit_cast<float>(sign | bits);
}

// Rounds up if random / 2^32 is less than the remainder, which is known to 2^-32 of a unit.
struct RoundStochastically {
  std::uint32_t random;
  std::uint64_t operator()(std::uint64_t significand, int shift) const {
    if (shift == 0) return significand;
    if (shift > 63) return 0;
    const std::uint64_t remainder = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t odds = shift <= 32 ? remainder << (32 - shift) : remainder >> (shift - 32);
    return (significand >> shift) + (random < odds ? 1 : 0);
  }
};

constexpr std::uint32_t float_infinity = 0x7f80'0000;
constexpr std::uint32_t below_tf32 = 0x1fff;  // the 13 mantissa bits that tf32 lacks

// The exponent of the power of two to which a positive finite value, given by its bits, is rounded.
template <class From>
int rounded_exponent(std::uint64_t bits, PowerRounding rounding) {
  const int field = static_cast<int>(bits >> From::mantissa_bits);
  const std::uint64_t mantissa = bits & (From::implicit_one - 1);
  const std::uint64_t significand = field > 0 ? mantissa | From::implicit_one : mantissa;
  const int leading = 63 - std::countl_zero(significand);
  const std::uint64_t one = std::uint64_t{1} << leading, rest = significand - one;
  const std::uint64_t from = rounding == PowerRounding::nearest ? (one + 1) / 2 : 1;
  const bool up = rounding != PowerRounding::down && rest >= from;
  const int unit = std::max(field, 1) - 1 + From::smallest_exponent - From::mantissa_bits;
  return unit + leading + (up ? 1 : 0);
}

constexpr f8e8m0 no_power{0xff};

f8e8m0 power_of(int exponent) { return {static_cast<std::uint8_t>(exponent + most_power)}; }

template <class Wide>
f8e8m0 nearest_power(Wide value) {
  using From = LayoutOf<Wide>;
  const std::uint64_t bits = std::bit_cast<typename From::Storage>(value);
  if (bits == 0 || bits >= From::all_exponent) return no_power;  // 0, infinity, NaN, a sign
  const int exponent = rounded_exponent<From>(bits, PowerRounding::nearest);
  return exponent > most_power ? no_power : power_of(std::max(exponent, -most_power));
}

bool is_nan_bits(std::uint32_t bits) { return (bits & 0x7fff'ffff) > float_infinity; }

}  // namespace

float widen(f16 value) { return widen_small(value); }
float widen(f8e4m3fn value) { return widen_small(value); }
float widen(f8e5m2 value) { return widen_small(value); }
float widen(f8e4m3fnuz value) { return widen_small(value); }
float widen(f8e5m2fnuz value) { return widen_small(value); }
float widen(f4e2m1 value) { return widen_small(value); }

float widen(f8e8m0 value) {
  constexpr std::uint32_t least = 0x0040'0000;  // 2^-127, a subnormal
  if (value.bits == 0xff) return std::bit_cast<float>(0x7fc0'0000U);
  return std::bit_cast<float>(value.bits == 0 ? least : std::uint32_t{value.bits} << 23);
}

float widen(bf16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  return std::bit_cast<float>(is_nan_bits(bits) ? bits | 0x0040'0000 : bits);
}

template <class Narrow>
Narrow narrow(float value) {
  if constexpr (std::is_same_v<Narrow, float>)
    return value;
  else if constexpr (std::is_same_v<Narrow, f8e8m0>)
    return nearest_power(value);
  else
    return narrow_with<Narrow>(value, shift_nearest_even);
}

template <class Narrow>
Narrow narrow(double value) {
  if constexpr (std::is_same_v<Narrow, f8e8m0>)
    return nearest_power(value);
  else
    return narrow_with<Narrow>(value, shift_nearest_even);
}

template <class Narrow>
Narrow narrow_stochastic(float value, std::uint32_t random) {
  if constexpr (std::is_same_v<Narrow, float>) return value;
  return narrow_with<Narrow>(value, RoundStochastically{random});
}

#define NG_NARROW(Type)                     \
  template Type narrow<Type>(float value);  \
  template Type narrow<Type>(double value); \
  template Type narrow_stochastic<Type>(float value, std::uint32_t random);
NG_NARROW(float)
NG_NARROW(f16)
NG_NARROW(bf16)
NG_NARROW(f8e4m3fn)
NG_NARROW(f8e5m2)
NG_NARROW(f8e4m3fnuz)
NG_NARROW(f8e5m2fnuz)
NG_NARROW(f4e2m1)
#undef NG_NARROW
template f8e8m0 narrow<f8e8m0>(float value);
template f8e8m0 narrow<f8e8m0>(double value);

template <class Wide>
f8e8m0 narrow_to_power(Wide value, PowerRounding rounding, bool saturate) {
  using From = LayoutOf<Wide>;
  const std::uint64_t bits = std::bit_cast<typename From::Storage>(value);
  if ((bits & (From::sign - 1)) == 0) return saturate ? power_of(-most_power) : no_power;
  if (bits > From::all_exponent) return no_power;  // NaN, a sign
  if (bits == From::all_exponent) return saturate ? power_of(most_power) : no_power;
  const int exponent = rounded_exponent<From>(bits, rounding);
  if (saturate) return power_of(std::clamp(exponent, -most_power, most_power));
  const bool below = rounded_exponent<From>(bits, PowerRounding::down) < -most_power;
  return below || exponent > most_power ? no_power : power_of(exponent);
}
template f8e8m0 narrow_to_power(float value, PowerRounding rounding, bool saturate);
template f8e8m0 narrow_to_power(double value, PowerRounding rounding, bool saturate);

float round_to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (is_nan_bits(bits)) return std::bit_cast<float>((bits | 0x0040'0000) & ~below_tf32);
  const std::uint32_t odd = bits >> 13 & 1;
  return std::bit_cast<float>((bits + (below_tf32 >> 1) + odd) & ~below_tf32);
}

float round_to_tf32_away(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (is_nan_bits(bits)) return std::bit_cast<float>((bits | 0x0040'0000) & ~below_tf32);
  return std::bit_cast<float>((bits + (below_tf32 + 1) / 2) & ~below_tf32);
}

// Truncating a NaN whose payload is only in the dropped bits would make an infinity.
float truncate_to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (is_nan_bits(bits)) return std::bit_cast<float>((bits | 0x0040'0000) & ~below_tf32);
  return std::bit_cast<float>(bits & ~below_tf32);
}

}  // namespace narrowgauge
