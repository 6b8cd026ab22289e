// SPDX-License-Identifier: Apache-2.0
// Formulas that several elementwise ops share, written so that nothing overflows and small results
// keep their relative accuracy.
#pragma once

#include "kernels/cpu/random/normal_distribution.h"
#include "ops/elementwise/elementwise.h"

namespace narrowgauge {

// 1 / (1 + e^-x)
template <class T>
NG_INLINE T sigmoid(T x) {
  const T e = std::exp(-std::abs(x));
  return select(x < T(0), e, T(1)) / (T(1) + e);
}

// sigmoid(x) (1 - sigmoid(x)), its derivative
template <class T>
NG_INLINE T sigmoid_slope(T x) {
  const T e = std::exp(-std::abs(x));
  return e / ((T(1) + e) * (T(1) + e));
}

// max(0, min(1, x)); NaN stays.
template <class T>
NG_INLINE T unit_interval(T x) {
  return select(x < T(0), T(0), select(x > T(1), T(1), x));
}
template <class T>
NG_INLINE bool within_unit_interval(T x) {
  return !((x <= T(0)) | (x >= T(1)));
}

// log(1 + e^x)
template <class T>
NG_INLINE T softplus(T x) {
  return select(x > T(0), x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

// tanh(softplus(x)) = ((1 + e^x)^2 - 1) / ((1 + e^x)^2 + 1), with e^-|x| factored out; NaN stays.
template <class T>
struct TanhSoftplus {
  T value, denominator, e;  // e = e^-|x|
};
template <class T>
NG_INLINE TanhSoftplus<T> tanh_softplus(T x) {
  const T e = std::exp(-std::abs(x));
  const T numerator = select(x > T(0), T(1) + T(2) * e, e * (e + T(2)));
  const T denominator = numerator + select(x > T(0), T(2) * e * e, T(2));
  return {numerator / denominator, denominator, e};
}

template <class T>
NG_INLINE T mish(T x) {
  return x * tanh_softplus(x).value;
}
// The slope of tanh(softplus(x)) is sigmoid(x) (1 - tanh^2) = 4 (1 + e) {e^2, e} / denominator^2
// for positive and negative x.
template <class T>
NG_INLINE T mish_slope(T x) {
  const TanhSoftplus<T> t = tanh_softplus(x);
  const T power = select(x > T(0), t.e * t.e, t.e);
  return t.value + x * (T(4) * power * (T(1) + t.e) / (t.denominator * t.denominator));
}

// P(X <= x) for a normal X, with erfc for an accurate left tail, and e^(-x^2 / 2); f32 computes
// both at once.
template <class T>
struct NormalValues {
  T below, density;
};
template <class T>
NG_INLINE NormalValues<T> normal_values(T x) {
  if constexpr (std::is_same_v<T, float>) {
    const cpu::NormalDistribution normal = cpu::normal_distribution(x);
    return {normal.below, normal.density};
  } else {
    return {T(0.5) * std::erfc(x * T(-0.70710678118654752440)), std::exp(T(-0.5) * x * x)};
  }
}

}  // namespace narrowgauge
