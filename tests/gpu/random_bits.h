// SPDX-License-Identifier: Apache-2.0
// Random bits of floats that show how a matrix unit adds.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace narrowgauge::test {

// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

// Values of tiles that take turns: any bits; exponents about 1, many of which are equal; operands
// about 1 whose sums nearly cancel c; as the second with a zero, NaN, infinity or subnormal here
// and there; and products and c about the smallest number of the result's format.
enum Values : std::uint8_t { any_bits, near_one, cancelling, specials, tiny, kinds_of_values };

// Bits of a float of this kind, for an operand; the caller cuts them to its format. 2^smallest is
// the least positive number of the result's format.
inline std::uint32_t operand_bits(Random& random, Values values, int smallest) {
  const auto bits = static_cast<std::uint32_t>(random());
  if (values == any_bits) return bits;
  if (values == specials && (bits & 63) == 0)
    return (bits & 0x8000'0000) | (bits & 0x1000 ? 0x7f80'0000 : 0) |
           (bits & 0x2000 ? 0x40'0000 : 0);
  const std::uint32_t places = values == cancelling ? 3 : values == tiny ? 4 : 12;
  const int largest = values == tiny ? smallest / 2 + 1 : 0;
  const std::uint32_t exponent = static_cast<std::uint32_t>(127 + largest) - bits % 65521 % places;
  return (bits & 0x807f'ffff) | exponent << 23;
}

// Bits of a float of this kind, for c.
inline std::uint32_t sum_bits(Random& random, Values values, int smallest) {
  if (values != tiny) return operand_bits(random, values, smallest);
  const std::uint64_t bits = random();
  const float multiple = static_cast<float>(bits % 4);
  return std::bit_cast<std::uint32_t>(std::ldexp(bits & 4 ? -multiple : multiple, smallest));
}

}  // namespace narrowgauge::test
