// SPDX-License-Identifier: Apache-2.0
// Elementwise ops write one formula. It is compiled for double (reference, gradient checks), for
// int64, for f32 strips with AVX2 and AVX-512, and kept as text for fusion and code generators.
#pragma once

#include <cmath>
#include <utility>

#include "narrowgauge/op.h"

// glibc's vector functions, which g++ takes for the calls in a simd loop.
extern "C" {
#define NG_SIMD_FUNCTION(name) _Pragma("omp declare simd notinbranch") float name(float) noexcept;
NG_SIMD_FUNCTION(expf)
NG_SIMD_FUNCTION(logf)
NG_SIMD_FUNCTION(log1pf)
NG_SIMD_FUNCTION(tanhf)
NG_SIMD_FUNCTION(erff)
NG_SIMD_FUNCTION(sinf)
NG_SIMD_FUNCTION(cosf)
#undef NG_SIMD_FUNCTION
}

#define NG_INLINE __attribute__((always_inline)) inline

namespace narrowgauge {

// Both sides are computed: what a formula uses in place of ?: so that its loop stays a simd loop.
template <class T>
NG_INLINE T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

// Types of an elementwise op: one broadcast shape; `result` empty: the dtype of the T inputs.
TensorTypes elementwise_types(const Inference& in, std::optional<DType> result = {});
// "strips", then "reference".
std::span<const Kernel> elementwise_kernels();
// Shape of ONNX's multidirectional broadcasting; throws UsageError naming the op and both shapes.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

namespace detail {

template <class Op, class T, std::size_t... I>
NG_INLINE void strip_loop(const void* self, const T* const* in, T* out, std::int64_t count,
                          std::index_sequence<I...>) {
  const Op op = *static_cast<const Op*>(self);
  const T* const inputs[] = {in[I]...};
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = op.template formula<T>(inputs[I][i]...);
}

template <class Op, class T, int arity>
void strip(const void* self, const T* const* in, T* out, std::int64_t count) {
  strip_loop<Op, T>(self, in, out, count, std::make_index_sequence<arity>{});
}

template <class Op, int arity>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void strip_avx512(
    const void* self, const float* const* in, float* out, std::int64_t count) {
  strip_loop<Op, float>(self, in, out, count, std::make_index_sequence<arity>{});
}

// Number of "T " in an argument list.
constexpr int arity_of(std::string_view arguments) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
    count += arguments[i] == 'T' && arguments[i + 1] == ' ' &&
             (arguments[i - 1] == '(' || arguments[i - 1] == ' ');
  return count;
}

}  // namespace detail

template <class Op, int arity>
Elementwise make_elementwise(std::string_view arguments, std::string_view text) {
  Elementwise e;
  e.arity = arity;
  e.arguments = arguments;
  e.text = text;
  e.f32 = detail::strip<Op, float, arity>;
  e.f32_avx512 = detail::strip_avx512<Op, arity>;
  e.f64 = detail::strip<Op, double, arity>;
  if constexpr (requires { Op::on_integers; }) e.i64 = detail::strip<Op, std::int64_t, arity>;
  if constexpr (requires { Op::when_absent; })
    e.when_absent.assign(std::begin(Op::when_absent), std::end(Op::when_absent));
  return e;
}

}  // namespace narrowgauge

// The formula of an elementwise op, with what follows from it. Arguments are "T name"; attributes
// are members, used as T(alpha). Constants are T(0.5). An op that is defined on integers says
// `static constexpr bool on_integers = true;`, one with optional inputs
// `static constexpr double when_absent[] = {0, -inf, inf};`.
#define NG_FORMULA(Self, ARGUMENTS, ...)                                                       \
  template <class T>                                                                           \
  NG_INLINE T formula ARGUMENTS const {                                                        \
    using std::abs, std::ceil, std::cos, std::erf, std::exp, std::floor, std::fmax, std::fmin, \
        std::log, std::log1p, std::nearbyint, std::pow, std::sin, std::sqrt, std::tanh;        \
    return static_cast<T>(__VA_ARGS__);                                                        \
  }                                                                                            \
  static Elementwise elementwise() {                                                           \
    return make_elementwise<Self, detail::arity_of(#ARGUMENTS)>(#ARGUMENTS, #__VA_ARGS__);     \
  }                                                                                            \
  static std::span<const Kernel> kernels() { return elementwise_kernels(); }
#define NG_SAME_TYPE \
  TensorTypes infer(const Inference& in) const { return elementwise_types(in); }
#define NG_BOOL_RESULT \
  TensorTypes infer(const Inference& in) const { return elementwise_types(in, DType::boolean); }
#define NG_NO_ATTRIBUTES \
  static void attributes(auto&, auto&&) {}
