// SPDX-License-Identifier: Apache-2.0
// An elementwise op writes one formula. It is compiled for double (reference, gradient checks), for
// whole numbers, and for f32 strips with AVX2 and AVX-512, and is kept as text for fusion and code
// generators.
#pragma once

#include <cmath>
#include <utility>

#include "narrowgauge/op_record.h"
#include "ops/elementwise/integer.h"

// glibc's vector functions, which g++ uses for calls in a simd loop.
extern "C" {
#define NG_SIMD_FUNCTION(name) _Pragma("omp declare simd notinbranch") float name(float) noexcept;
NG_SIMD_FUNCTION(expf)
NG_SIMD_FUNCTION(expm1f)
NG_SIMD_FUNCTION(logf)
NG_SIMD_FUNCTION(log1pf)
NG_SIMD_FUNCTION(tanhf)
NG_SIMD_FUNCTION(erff)
NG_SIMD_FUNCTION(erfcf)
NG_SIMD_FUNCTION(sinf)
NG_SIMD_FUNCTION(cosf)
#pragma omp declare simd notinbranch
float powf(float, float) noexcept;
#undef NG_SIMD_FUNCTION
}

#define NG_INLINE __attribute__((always_inline)) inline
#define NG_LAMBDA_INLINE __attribute__((always_inline))

namespace narrowgauge {

// Formulas use this instead of ?: so that their loops vectorize: both sides are computed.
template <class T>
NG_INLINE T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

// Types of an elementwise op: one broadcast shape; without `result`, the dtype of the T inputs.
TensorTypes elementwise_types(const Inference& in, std::optional<DType> result = {});
// Facts of an elementwise op with inputs "x:T", or "a:T, b:T", and one output of T.
constexpr OpInfo unary_info(std::string_view name, Precision precision,
                            std::string_view types = "T:float") {
  return {.name = name,
          .inputs = "x:T",
          .outputs = "y:T",
          .types = types,
          .precision = precision,
          .fusion = Fusion::elementwise};
}
constexpr OpInfo binary_info(std::string_view name, Precision precision,
                             std::string_view types = "T:float") {
  return {.name = name,
          .inputs = "a:T, b:T",
          .outputs = "y:T",
          .types = types,
          .precision = precision,
          .fusion = Fusion::elementwise};
}
// The gradient op of an activation, domain ng: reads the forward op's x or y.
constexpr OpInfo activation_gradient_info(std::string_view name, Precision precision,
                                          std::string_view inputs = "x:T, dy:T") {
  return {.name = name,
          .domain = "ng",
          .inputs = inputs,
          .outputs = "dx:T",
          .types = "T:float",
          .precision = precision,
          .fusion = Fusion::elementwise};
}
constexpr OpInfo commutative(OpInfo info) {
  info.commutative = true;
  return info;
}
// The kernels "strips", then "reference".
std::span<const Kernel> elementwise_kernels();
// Types of ops whose inputs are not broadcast: the gradients of activations.
TensorTypes same_shape_types(const Inference& in);
// The shape by ONNX's multidirectional broadcasting; UsageError names the op and both shapes.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

namespace detail {

// Calls use(op). If the formula depends on an attribute that is no number, calls use(the formula
// chosen for it) instead, so that nothing is decided inside the loop.
template <class Op, class Use>
NG_INLINE void with_formula(const Op& op, Use use) {
  if constexpr (requires { op.choose(use); })
    op.choose(use);
  else
    use(op);
}

template <class Op, class T, std::size_t... I>
NG_INLINE void strip_loop(const void* self, const T* const* in, T* out, std::int64_t count,
                          std::index_sequence<I...>) {
  with_formula(*static_cast<const Op*>(self), [&](const auto op) NG_LAMBDA_INLINE {
    const T* const inputs[] = {in[I]...};
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = op.template formula<T>(inputs[I][i]...);
  });
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

template <class Op, std::size_t... I>
void integer_strip(const void* self, const WideInteger* const* in, WideInteger* out,
                   std::int64_t count, std::index_sequence<I...>) {
  const Op op = *static_cast<const Op*>(self);
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = op.template formula<Integer>(Integer(in[I][i])...).value;
}

template <class Op, int arity>
void integer_strip(const void* self, const WideInteger* const* in, WideInteger* out,
                   std::int64_t count) {
  integer_strip<Op>(self, in, out, count, std::make_index_sequence<arity>{});
}

// The number of "T " in an argument list.
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
  if constexpr (requires { Op::on_integers; }) e.whole = detail::integer_strip<Op, arity>;
  if constexpr (requires { Op::folds; }) e.folds = true;
  if constexpr (requires { Op::when_absent; })
    e.when_absent.assign(std::begin(Op::when_absent), std::end(Op::when_absent));
  return e;
}

}  // namespace narrowgauge

// The formula of an elementwise op, and what follows from it. Arguments are "T name"; attributes
// are members, used as T(alpha); constants are T(0.5). An op defined on integers says `static
// constexpr bool on_integers = true;`, one with optional inputs `static constexpr double
// when_absent[] = {0, -inf, inf};`, a variadic one, whose formula has two arguments, `static
// constexpr bool folds = true;`. One whose formula depends on a string or a dtype has `NG_INLINE
// void choose(auto use) const`, which calls use(formula object) once.
#define NG_FORMULA(Self, ARGUMENTS, ...)                                                        \
  template <class T>                                                                            \
  NG_INLINE T formula ARGUMENTS const {                                                         \
    using std::abs, std::ceil, std::cos, std::erf, std::erfc, std::exp, std::expm1, std::floor, \
        std::log, std::log1p, std::nearbyint, std::pow, std::sin, std::sqrt, std::tanh;         \
    return static_cast<T>(__VA_ARGS__);                                                         \
  }                                                                                             \
  static Elementwise elementwise() {                                                            \
    return make_elementwise<Self, detail::arity_of(#ARGUMENTS)>(#ARGUMENTS, #__VA_ARGS__);      \
  }                                                                                             \
  static std::span<const Kernel> kernels() { return elementwise_kernels(); }
#define NG_SAME_TYPE \
  TensorTypes infer(const Inference& in) const { return elementwise_types(in); }
#define NG_SAME_SHAPE \
  TensorTypes infer(const Inference& in) const { return same_shape_types(in); }
#define NG_BOOL_RESULT \
  TensorTypes infer(const Inference& in) const { return elementwise_types(in, DType::boolean); }
#define NG_NO_ATTRIBUTES \
  static void attributes(auto&, auto&&) {}
