// SPDX-License-Identifier: Apache-2.0
// A vector of 64 bytes as lanes of any type, and masks of them.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace narrowgauge::emulation {

// Ends the program: what a CPU would answer with a fault, or not at all.
[[noreturn]] void fail(const char* instruction, const char* reason);

template <class T>
using Lanes [[gnu::vector_size(64), gnu::may_alias]] = T;

template <class T>
inline constexpr int lanes_of = static_cast<int>(64 / sizeof(T));

using I8 = Lanes<std::int8_t>;
using U8 = Lanes<std::uint8_t>;
using I16 = Lanes<std::int16_t>;
using U16 = Lanes<std::uint16_t>;
using I32 = Lanes<std::int32_t>;
using U32 = Lanes<std::uint32_t>;
using I64 = Lanes<std::int64_t>;
using U64 = Lanes<std::uint64_t>;
using F32 = Lanes<float>;
using F64 = Lanes<double>;

#define NG_EMULATED [[gnu::always_inline]] inline
// Calls, not copies, so that kernels with hundreds of intrinsics compile soon. They are optimized
// themselves, where those kernels are compiled as for debugging: tests call them by the million.
#define NG_INTRINSIC [[gnu::noinline, gnu::optimize("O1")]] inline

// The bits of a vector, seen as other lanes.
template <class To, class From>
NG_EMULATED To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(from);
}

NG_EMULATED bool has(std::uint64_t mask, int lane) { return (mask >> lane & 1) != 0; }

// Lanes of a where the mask has a bit, else those of b.
template <class Vector>
NG_EMULATED Vector chosen(std::uint64_t mask, Vector a, Vector b) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(a[0]));
  for (int i = 0; i < lanes; ++i)
    if (has(mask, i)) b[i] = a[i];
  return b;
}

// Lane by lane: f(lane number).
template <class Vector, class F>
NG_EMULATED Vector made(const F& f) {
  Vector result{};
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(result[0]));
  for (int i = 0; i < lanes; ++i) result[i] = f(i);
  return result;
}

// Bits of the lanes for which f(lane number) holds.
template <int lanes, class F>
NG_EMULATED std::uint64_t mask_of(const F& f) {
  std::uint64_t mask = 0;
  for (int i = 0; i < lanes; ++i) mask |= std::uint64_t{f(i)} << i;
  return mask;
}

// A half of 32 bytes, 0 or 1.
template <class Half, class Vector>
NG_EMULATED Half half(Vector x, int index) {
  Half result;
  __builtin_memcpy(&result, reinterpret_cast<const std::byte*>(&x) + 32 * index, 32);
  return result;
}
template <class Vector, class Half>
NG_EMULATED Vector joined(Half low, Half high) {
  Vector result;
  __builtin_memcpy(&result, &low, 32);
  __builtin_memcpy(reinterpret_cast<std::byte*>(&result) + 32, &high, 32);
  return result;
}

}  // namespace narrowgauge::emulation
