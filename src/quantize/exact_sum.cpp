// SPDX-License-Identifier: Apache-2.0
#include "quantize/exact_sum.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

constexpr int fraction_bits = 23, limb_bits = 64;
constexpr std::uint32_t exponent_mask = 0xff, fraction_mask = (1u << fraction_bits) - 1;
constexpr int least_exponent = -149;  // of the least f32
constexpr std::string_view digits = "0123456789abcdef";

// A finite f32 as significand * 2^(shift - 149).
struct Parts {
  std::int64_t significand;
  std::uint32_t exponent;  // as stored; 255: not finite

  explicit Parts(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    exponent = bits >> fraction_bits & exponent_mask;
    const std::uint32_t one = exponent > 0 ? 1u << fraction_bits : 0;
    const std::int64_t magnitude = (bits & fraction_mask) | one;
    significand = bits >> 31 ? -magnitude : magnitude;
  }
  bool is_finite() const { return exponent != exponent_mask; }
};

int shift_of(std::uint32_t exponent) { return exponent > 0 ? static_cast<int>(exponent) - 1 : 0; }

// Sums of significands, by exponent: as many of them as 39 bits count. All 0 between uses.
using Significands = std::array<std::int64_t, exponent_mask + 1>;

Significands& significands_of_thread() {
  thread_local Significands sums{};
  return sums;
}

// The least and the most exponent of some values, as stored.
struct Exponents {
  std::uint32_t least = exponent_mask, most = 0;

  explicit Exponents(std::span<const float> values) {
    for (const float value : values) {
      const std::uint32_t exponent =
          std::bit_cast<std::uint32_t>(value) >> fraction_bits & exponent_mask;
      least = std::min(least, exponent);
      most = std::max(most, exponent);
    }
  }
};

}  // namespace

void ExactSum::add(std::span<const float> values) {
  constexpr std::size_t few = 16;  // for more a table of all exponents is faster
  constexpr std::size_t most_at_once = std::size_t{1} << 36;
  for (; values.size() > most_at_once; values = values.subspan(most_at_once))
    add(values.first(most_at_once));
  count_ += static_cast<std::int64_t>(values.size());
  if (values.size() <= few) {
    for (const float value : values) {
      const Parts parts(value);
      if (parts.is_finite())
        add_shifted(parts.significand, shift_of(parts.exponent));
      else
        --count_;
    }
    return;
  }
  Significands& sums = significands_of_thread();
  for (const float value : values) {
    const Parts parts(value);
    sums[parts.exponent] += parts.significand;
    count_ -= parts.is_finite() ? 0 : 1;
  }
  const Exponents seen(values);
  for (std::uint32_t exponent = seen.least; exponent <= seen.most; ++exponent) {
    const std::int64_t sum = std::exchange(sums[exponent], 0);
    if (sum != 0 && exponent != exponent_mask) add_shifted(sum, shift_of(exponent));
  }
}

void ExactSum::add_shifted(std::int64_t significand, int shift) {
  const auto first = static_cast<std::size_t>(shift / limb_bits);
  const int bits = shift % limb_bits;
  const auto low = static_cast<std::uint64_t>(significand) << bits;
  // The limb above the lower one gets the bits shifted out of that one, and the sign from there on.
  const auto high =
      static_cast<std::uint64_t>(bits == 0 ? significand >> 63 : significand >> (limb_bits - bits));
  const auto sign = static_cast<std::uint64_t>(significand >> 63);
  bool carry = false;
  for (std::size_t i = first; i < limbs; ++i) {
    const std::uint64_t term = i == first ? low : i == first + 1 ? high : sign;
    const bool carried = __builtin_add_overflow(sum_[i], term, &sum_[i]);
    carry = carried | __builtin_add_overflow(sum_[i], std::uint64_t{carry}, &sum_[i]);
    // The limbs above stay as they are where carry and sign cancel out.
    if (i > first && carry == (sign != 0)) return;
  }
}

void ExactSum::merge(const ExactSum& other) {
  bool carry = false;
  for (std::size_t i = 0; i < limbs; ++i) {
    const bool carried = __builtin_add_overflow(sum_[i], other.sum_[i], &sum_[i]);
    carry = carried | __builtin_add_overflow(sum_[i], std::uint64_t{carry}, &sum_[i]);
  }
  count_ += other.count_;
}

ExactSum::Limbs ExactSum::magnitude() const {
  if (!is_negative()) return sum_;
  Limbs negated;
  bool carry = true;
  for (std::size_t i = 0; i < limbs; ++i)
    carry = __builtin_add_overflow(~sum_[i], std::uint64_t{carry}, &negated[i]);
  return negated;
}

double ExactSum::value() const {
  const Limbs limb = magnitude();
  int top = limbs - 1;
  while (top > 0 && limb[static_cast<std::size_t>(top)] == 0) --top;
  const auto at = static_cast<std::size_t>(top);
  std::uint64_t leading = limb[at];
  int exponent = limb_bits * top;
  if (top > 0) {  // 64 leading bits, the last of which also stands for all behind it
    const int zeros = std::countl_zero(leading);
    const std::uint64_t next = limb[at - 1];
    if (zeros > 0) leading = leading << zeros | next >> (limb_bits - zeros);
    bool rest = (next << zeros) != 0;
    for (std::size_t i = 0; i + 1 < at; ++i) rest |= limb[i] != 0;
    leading |= rest ? 1 : 0;
    exponent -= zeros;
  }
  const double sum = std::ldexp(static_cast<double>(leading), exponent + least_exponent);
  return is_negative() ? -sum : sum;
}

double ExactSum::mean() const { return count_ > 0 ? value() / static_cast<double>(count_) : 0; }

std::string ExactSum::text() const {
  const Limbs limb = magnitude();
  std::string hex;
  for (auto each = limb.rbegin(); each != limb.rend(); ++each)
    for (int shift = limb_bits - 4; shift >= 0; shift -= 4) hex += digits[*each >> shift & 15];
  const std::size_t first = hex.find_first_not_of('0');
  if (first == std::string::npos) return "0";
  const std::size_t last = hex.find_last_not_of('0');
  const std::size_t behind = hex.size() - 1 - last;
  return concat(is_negative() ? "-" : "", hex.substr(first, last + 1 - first), 'p', 4 * behind);
}

std::optional<ExactSum> ExactSum::parse(std::string_view text, std::int64_t count) {
  ExactSum sum;
  const bool negative = text.starts_with('-');
  const std::size_t begin = negative ? 1 : 0, mark = text.find('p');
  int shift = 0;
  if (mark != std::string_view::npos)
    std::from_chars(text.data() + mark + 1, text.data() + text.size(), shift);
  constexpr int bits = limbs * limb_bits;
  for (std::size_t i = std::min(mark, text.size()); i-- > begin; shift += 4) {
    const std::size_t digit = digits.find(text[i]);
    if (digit == std::string_view::npos || shift < 0 || shift >= bits) return {};
    const auto term = static_cast<std::int64_t>(digit);
    sum.add_shifted(negative ? -term : term, shift);
  }
  sum.count_ = count;
  if (count < 0 || sum.text() != text) return {};
  return sum;
}

}  // namespace narrowgauge
