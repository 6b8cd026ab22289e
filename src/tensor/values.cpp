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

// Every value of these formats is a normal float, or zero: the product is exact.
template <class Narrow>
float widen_small(Narrow value) {
  using From = LayoutOf<Narrow>;
  using To = LayoutOf<float>;
  constexpr int more_bits = To::mantissa_bits - From::mantissa_bits;
  const std::uint32_t magnitude = value.bits & static_cast<std::uint32_t>(From::sign - 1);
  const std::uint32_t sign = value.bits & From::sign ? 0x8000'0000U : 0;
  std::uint32_t bits = magnitude << more_bits;
  if (From::has_infinity ? magnitude > From::all_exponent : magnitude == From::quiet_nan) {
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

// Up if random / 2^32 is less than the remainder, which is known to 2^-32 of a unit.
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

bool is_nan_bits(std::uint32_t bits) { return (bits & 0x7fff'ffff) > float_infinity; }

}  // namespace

float widen(f16 value) { return widen_small(value); }
float widen(f8e4m3fn value) { return widen_small(value); }
float widen(f8e5m2 value) { return widen_small(value); }

float widen(bf16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  return std::bit_cast<float>(is_nan_bits(bits) ? bits | 0x0040'0000 : bits);
}

template <class Narrow>
Narrow narrow(float value) {
  if constexpr (std::is_same_v<Narrow, float>) return value;
  return narrow_with<Narrow>(value, shift_nearest_even);
}

template <class Narrow>
Narrow narrow(double value) {
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
#undef NG_NARROW

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

// A NaN whose payload lies in the dropped bits alone would turn into an infinity.
float truncate_to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (is_nan_bits(bits)) return std::bit_cast<float>((bits | 0x0040'0000) & ~below_tf32);
  return std::bit_cast<float>(bits & ~below_tf32);
}

}  // namespace narrowgauge
