// SPDX-License-Identifier: Apache-2.0
// Sums of f32 values without rounding, so that they do not depend on the order of the values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace narrowgauge {

// The sum is kept as a whole number of 2^-149, the least f32, in two's complement: 277 bits hold
// any f32, and the others as many values as can be counted. NaN and infinities are left out.
class ExactSum {
 public:
  void add(float value) { add(std::span(&value, 1)); }
  void add(std::span<const float> values);
  void merge(const ExactSum& other);

  std::int64_t count() const { return count_; }  // of finite values
  double value() const;                          // of the sum, rounded once
  double mean() const;                           // value() / count(); 0 without values

  // The sum as "-1a8p116": hexadecimal digits, the last of which is not 0, times 2^(116 - 149).
  std::string text() const;
  // The inverse; nothing unless text() gives just this.
  static std::optional<ExactSum> parse(std::string_view text, std::int64_t count);

  bool operator==(const ExactSum&) const = default;

 private:
  static constexpr int limbs = 6;
  using Limbs = std::array<std::uint64_t, limbs>;  // the lowest bits first

  void add_shifted(std::int64_t significand, int shift);
  bool is_negative() const { return (sum_[limbs - 1] >> 63) != 0; }
  Limbs magnitude() const;

  Limbs sum_{};
  std::int64_t count_ = 0;
};

}  // namespace narrowgauge
