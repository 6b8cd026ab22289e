// SPDX-License-Identifier: Apache-2.0
// Logic on the bits of integers.
#pragma once

#include <functional>

#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

namespace detail {

// What and, or and xor make of the bits of two numbers. A formula is compiled for floating types
// too, but computes only with integers there.
template <class T>
NG_INLINE T with_bits(T a, T b, auto combine) {
  if constexpr (std::is_same_v<T, Integer>)
    return Integer(combine(a.value, b.value));
  else
    return static_cast<T>(combine(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
}

}  // namespace detail

constexpr OpInfo bitwise_info(std::string_view name) {
  return commutative(binary_info(name, {}, "T:integer"));
}

struct BitwiseAnd {
  static constexpr OpInfo info = bitwise_info("BitwiseAnd");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(BitwiseAnd, (T a, T b), detail::with_bits(a, b, std::bit_and<>{}))
};

struct BitwiseOr {
  static constexpr OpInfo info = bitwise_info("BitwiseOr");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(BitwiseOr, (T a, T b), detail::with_bits(a, b, std::bit_or<>{}))
};

struct BitwiseXor {
  static constexpr OpInfo info = bitwise_info("BitwiseXor");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(BitwiseXor, (T a, T b), detail::with_bits(a, b, std::bit_xor<>{}))
};

struct BitwiseNot {
  static constexpr OpInfo info = unary_info("BitwiseNot", {}, "T:integer");
  static constexpr bool on_integers = true;
  NG_NO_ATTRIBUTES
  NG_SAME_TYPE
  NG_FORMULA(BitwiseNot, (T x), T(-1) - x)
};

// The bits of a moved b places to the LEFT or to the RIGHT, zeros behind them.
struct BitShift {
  static constexpr OpInfo info{
      .name = "BitShift", .inputs = "a:T, b:T", .outputs = "y:T", .types = "T:unsigned"};
  std::string direction;
  static void attributes(auto& self, auto&& visit) { visit("direction", self.direction); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
