// SPDX-License-Identifier: Apache-2.0
// Changes of number format, and Identity, which changes nothing.
#pragma once

#include "ops/elementwise/elementwise.h"
#include "tensor/values.h"

namespace narrowgauge {

struct Identity {
  static constexpr OpInfo info{.name = "Identity",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .precision = clear,
                               .fusion = Fusion::view};
  NG_NO_ATTRIBUTES
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  Values gradient(Gradient& g) const { return {g.output_gradient()}; }
  static std::span<const Kernel> kernels();
};

namespace detail {

// What Cast computes before the value is stored in `to`: nearest even, integers saturated.
struct KeepingCast {
  template <class T>
  NG_INLINE T formula(T x) const {
    return x;
  }
};
struct BooleanCast {  // inside a fused group nothing is stored: the formula itself makes 0 or 1
  template <class T>
  NG_INLINE T formula(T x) const {
    return select(x != T(0), T(1), T(0));
  }
};
struct TruncatingCast {
  template <class T>
  NG_INLINE T formula(T x) const {
    return std::trunc(x);
  }
};
// To the low bits of a whole number, which are exact in floating point.
struct WrappingCast {
  double numbers;  // how many there are
  bool has_sign;
  template <class T>
  NG_INLINE T formula(T x) const {
    const T whole = std::trunc(x), all = T(numbers);
    const T low = whole - all * std::floor(whole / all);
    return select(has_sign & (low >= all / 2), low - all, low);
  }
};
struct SaturatingCast {
  double limit;
  template <class T>
  NG_INLINE T formula(T x) const {
    return select(x > T(limit), T(limit), select(x < T(-limit), T(-limit), x));
  }
};

// Only for the reference: strips do not compute in f8e8m0.
struct PowerCast {
  PowerRounding rounding;
  bool saturate;
  template <class T>
  T formula(T x) const {
    const int bits = narrow_to_power(x, rounding, saturate).bits;
    return bits == 0xff ? std::numeric_limits<T>::quiet_NaN() : std::ldexp(T(1), bits - 127);
  }
};

}  // namespace detail

// Floating results are rounded to nearest even. Floating values cast to an integer dtype are
// truncated and saturate, NaN becomes 0; of 4 and 2 bits they keep the low bits, as in ONNX's own
// data. From one integer dtype to another the low bits are kept. With `saturate` (8-bit floats
// only, as in ONNX) too large values become the largest finite one, without it infinity or NaN.
// f8e8m0 rounds by `round_mode`: "up" to the next power of two, "down", or "nearest" with ties up;
// with `saturate` zero becomes the least power, without it NaN; negative values become NaN.
struct Cast {
  static constexpr OpInfo info{
      .name = "Cast", .inputs = "x:S^", .outputs = "y:any", .fusion = Fusion::elementwise};
  DType to = DType::f32;
  std::int64_t saturate = 1;
  std::string round_mode = "up";
  static void attributes(auto& self, auto&& visit) {
    visit("to", self.to);
    visit("saturate", self.saturate);
    visit("round_mode", self.round_mode);
  }
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static Elementwise elementwise();
  static std::span<const Kernel> kernels();

  PowerRounding power_rounding() const;  // of round_mode, which is known to be right
  bool keeps_low_bits() const { return is_integer(to) && bits(to) < 8; }

  NG_INLINE void choose(auto use) const {
    if (to == DType::boolean)
      use(detail::BooleanCast{});
    else if (keeps_low_bits())
      use(detail::WrappingCast{static_cast<double>(1 << bits(to)), !is_unsigned(to)});
    else if (is_integer(to))
      use(detail::TruncatingCast{});
    else if (to == DType::f8e8m0)
      use(detail::PowerCast{power_rounding(), saturate != 0});
    else if (saturate != 0 && is_floating(to) && bits(to) == 8)
      use(detail::SaturatingCast{largest_finite(to)});
    else
      use(detail::KeepingCast{});
  }
  static constexpr bool on_integers = true;
  template <class T>
  T formula(T x) const {  // of integers
    return T(wrapped(x.value, to));
  }
};

}  // namespace narrowgauge
