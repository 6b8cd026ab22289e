// SPDX-License-Identifier: Apache-2.0
// What tests of wmma fragments share: random operands in memory, their matrices read element by
// element, and the sums of the scalar models.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "narrowgauge/wmma.hpp"

namespace narrowgauge::test {

namespace wmma = narrowgauge::wmma;
namespace packed = wmma::experimental::precision;

inline constexpr std::size_t alignment = 128;
template <class S>
struct AlignedAllocator {
  using value_type = S;
  AlignedAllocator() = default;
  template <class Other>
  explicit AlignedAllocator(const AlignedAllocator<Other>&) {}
  S* allocate(std::size_t n) {
    return static_cast<S*>(::operator new(n * sizeof(S), std::align_val_t(alignment)));
  }
  void deallocate(S* p, std::size_t) { ::operator delete(p, std::align_val_t(alignment)); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
template <class S>
using Aligned = std::vector<S, AlignedAllocator<S>>;

// The storage type, format and bits of an element, written here once more.
template <class T>
struct Element {
  using storage = T;
};
template <>
struct Element<wmma::precision::tf32> {
  using storage = float;
};
template <>
struct Element<packed::s4> {
  using storage = int;
};
template <>
struct Element<packed::u4> {
  using storage = unsigned;
};
template <>
struct Element<packed::b1> {
  using storage = unsigned;
};
template <class T>
constexpr int bits_of_element() {
  if (std::is_same_v<T, packed::b1>) return 1;
  if (std::is_same_v<T, packed::s4> || std::is_same_v<T, packed::u4>) return 4;
  return 8 * static_cast<int>(sizeof(typename Element<T>::storage));
}
template <class T>
constexpr UnitFormat format_of_element() {
  using enum UnitFormat;
  if (std::is_same_v<T, wmma::half>) return f16;
  if (std::is_same_v<T, wmma::bfloat16>) return bf16;
  if (std::is_same_v<T, wmma::precision::tf32>) return tf32;
  if (std::is_same_v<T, float>) return f32;
  if (std::is_same_v<T, double>) return f64;
  if (std::is_same_v<T, signed char>) return s8;
  if (std::is_same_v<T, unsigned char>) return u8;
  if (std::is_same_v<T, packed::s4>) return s4;
  if (std::is_same_v<T, packed::u4>) return u4;
  if (std::is_same_v<T, packed::b1>) return b1;
  return s32;
}

// How random bits are spread: any bits at all, any finite number, numbers of about 1, 1 and tiny
// ones that cancel, or ones whose products are below what f16 or f32 hold.
enum class Spread { any_bits, finite, near_one, cancelling, vanishing };

// A matrix of `lines` lines of `length` elements, `stride` apart, in memory.
template <class T>
class Matrix {
 public:
  using storage = typename Element<T>::storage;
  static constexpr int bits = bits_of_element<T>();

  Matrix(int lines, int length, int stride)
      : stride_(stride),
        memory_(static_cast<std::size_t>(lines * stride * bits / 8) / sizeof(storage)) {
    (void)length;
  }
  storage* data() { return memory_.data(); }
  unsigned stride() const { return static_cast<unsigned>(stride_); }

  void fill(std::mt19937& random, Spread spread) {
    auto* bytes = reinterpret_cast<unsigned char*>(memory_.data());
    for (std::size_t i = 0; i < memory_.size() * sizeof(storage); ++i)
      bytes[i] = static_cast<unsigned char>(random());
    if constexpr (std::is_same_v<T, wmma::half> || std::is_same_v<T, wmma::bfloat16> ||
                  std::is_floating_point_v<storage>)
      for (storage& value : memory_) {
        if (spread == Spread::finite && !std::isfinite(static_cast<float>(value))) value = 1.0F;
        if (spread == Spread::near_one || spread == Spread::cancelling)
          value = storage(number(random, spread));
        if (spread == Spread::vanishing)
          value = storage(std::ldexp(number(random, spread), vanishing_exponent(random)));
      }
  }
  // The bits of an element: of packed ones the first is the lowest.
  std::uint64_t element(int line, int place) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.data());
    const int first = (line * stride_ + place) * bits;
    if (bits < 8) return static_cast<unsigned>(bytes[first / 8] >> first % 8) & ((1U << bits) - 1);
    std::uint64_t value = 0;
    for (int i = 0; i < bits / 8; ++i) value |= std::uint64_t{bytes[first / 8 + i]} << (8 * i);
    return value;
  }

 private:
  static int vanishing_exponent(std::mt19937& random) {
    // Products of bf16 and tf32 then lie about 2^-140. A c of f32 that is not zero is above them.
    if (std::is_same_v<T, float>) return random() % 2 ? -122 : -200;
    const int smallest = std::is_same_v<T, wmma::half> ? -8 : -65;
    return smallest - static_cast<int>(random() % 10);
  }
  static float number(std::mt19937& random, Spread spread) {
    const float value = static_cast<float>(random() >> 8) * 0x1p-23F - 1;
    if (spread != Spread::cancelling) return value;
    const float sign = value < 0 ? -1 : 1;
    return random() % 3 ? sign : value * std::ldexp(1.0F, -static_cast<int>(random() % 14));
  }

  int stride_;
  Aligned<storage> memory_;
};

template <class S>
std::uint64_t bits_of_result(S value) {
  if constexpr (sizeof(S) == 2)
    return std::bit_cast<std::uint16_t>(value);
  else if constexpr (sizeof(S) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<std::uint64_t>(value);
}

}  // namespace narrowgauge::test
