// SPDX-License-Identifier: Apache-2.0
// Fragments of the host: a fragment holds its whole matrix, where one of CUDA's holds a thread's
// part of it. The words, shapes and types are those of nvcuda::wmma (CUDA C++ Programming Guide,
// warp matrix functions); what CUDA lacks does not compile.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "narrowgauge/matrix_unit.h"
#include "narrowgauge/wmma/number.h"

namespace narrowgauge::wmma {
inline namespace on_host {

struct matrix_a {};                              // the left operand, M x K
struct matrix_b {};                              // the right operand, K x N
struct accumulator {};                           // c and d, M x N
struct row_major {};                             // elements of a row lie together
struct col_major {};                             // elements of a column lie together
enum layout_t { mem_row_major, mem_col_major };  // the same, of an accumulator in memory

namespace precision {
struct tf32 {};  // f32 in memory, of which 10 bits of mantissa count
}  // namespace precision

namespace experimental {
namespace precision {
struct s4 {};  // eight to an int, the first in the lowest bits
struct u4 {};  // eight to an unsigned, the first in the lowest bits
struct b1 {};  // 32 to an unsigned, the first in the lowest bit
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };  // how bits are multiplied
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };     // how they are added: counted
}  // namespace experimental

namespace element {

// How an element lies in memory: its format, its C++ type, and how many share one.
template <class T>
struct Traits {
  static constexpr bool is_known = false;
};
template <class S, UnitFormat F, int Bits = 8 * static_cast<int>(sizeof(S))>
struct Known {
  static constexpr bool is_known = true;
  using storage = S;
  static constexpr UnitFormat format = F;
  static constexpr int bits = Bits;
  static constexpr int in_storage = 8 * static_cast<int>(sizeof(S)) / Bits;
  static constexpr bool is_packed = in_storage > 1;
};
template <>
struct Traits<half> : Known<half, UnitFormat::f16> {};
template <>
struct Traits<bfloat16> : Known<bfloat16, UnitFormat::bf16> {};
template <>
struct Traits<wmma::precision::tf32> : Known<float, UnitFormat::tf32> {};
template <>
struct Traits<float> : Known<float, UnitFormat::f32> {};
template <>
struct Traits<double> : Known<double, UnitFormat::f64> {};
template <>
struct Traits<signed char> : Known<signed char, UnitFormat::s8> {};
template <>
struct Traits<unsigned char> : Known<unsigned char, UnitFormat::u8> {};
template <>
struct Traits<int> : Known<int, UnitFormat::s32> {};
template <>
struct Traits<experimental::precision::s4> : Known<int, UnitFormat::s4, 4> {};
template <>
struct Traits<experimental::precision::u4> : Known<unsigned, UnitFormat::u4, 4> {};
template <>
struct Traits<experimental::precision::b1> : Known<unsigned, UnitFormat::b1, 1> {};

template <class T, class... Others>
inline constexpr bool is_one_of = (std::same_as<T, Others> || ...);

// 16x16x16, 32x8x16 and 8x32x16: the shapes of 16-bit and 8-bit operands.
template <int M, int N, int K>
inline constexpr bool is_large = K == 16 && M* N == 256 && (M == 8 || M == 16 || M == 32);
template <int M, int N, int K>
inline constexpr bool is_tf32 = M == 16 && N == 16 && K == 8;
template <int M, int N, int K, int Depth>
inline constexpr bool is_8x8 = M == 8 && N == 8 && K == Depth;

template <int M, int N, int K>
inline constexpr bool is_shape = is_large<M, N, K> || is_tf32<M, N, K> || is_8x8<M, N, K, 4> ||
                                 is_8x8<M, N, K, 32> || is_8x8<M, N, K, 128>;

template <int M, int N, int K, class T>
constexpr bool is_operand() {
  using namespace experimental::precision;
  if (is_large<M, N, K>) return is_one_of<T, half, bfloat16, signed char, unsigned char>;
  if (is_tf32<M, N, K>) return std::same_as<T, wmma::precision::tf32>;
  if (is_8x8<M, N, K, 4>) return std::same_as<T, double>;
  if (is_8x8<M, N, K, 32>) return is_one_of<T, s4, u4>;
  return is_8x8<M, N, K, 128> && std::same_as<T, b1>;
}
template <int M, int N, int K, class T>
constexpr bool is_accumulator() {
  if (is_large<M, N, K>) return is_one_of<T, half, float, int>;
  if (is_tf32<M, N, K>) return std::same_as<T, float>;
  if (is_8x8<M, N, K, 4>) return std::same_as<T, double>;
  return std::same_as<T, int>;
}
// Packed elements exist only in rows of a and columns of b.
template <class Use, class T, class Layout>
constexpr bool is_layout() {
  if (std::same_as<Use, accumulator>) return std::same_as<Layout, void>;
  if constexpr (Traits<T>::is_known)
    if (Traits<T>::is_packed)
      return std::same_as<Layout,
                          std::conditional_t<std::same_as<Use, matrix_a>, row_major, col_major>>;
  return is_one_of<Layout, row_major, col_major>;
}

}  // namespace element

// x[] holds a row of a, a column of b or a row of an accumulator after the other; CUDA leaves the
// order open, and kernels must too.
template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
  static_assert(element::is_one_of<Use, matrix_a, matrix_b, accumulator>,
                "wmma::fragment: a use is matrix_a, matrix_b or accumulator");
  static_assert(element::is_shape<M, N, K>,
                "wmma::fragment: CUDA has no such shape; there are 16x16x16, 32x8x16, 8x32x16, "
                "16x16x8, 8x8x4, 8x8x32 and 8x8x128");
  static_assert(!element::is_shape<M, N, K> ||
                    (std::same_as<Use, accumulator> ? element::is_accumulator<M, N, K, T>()
                                                    : element::is_operand<M, N, K, T>()),
                "wmma::fragment: CUDA has no elements of this type in this shape and use");
  static_assert(element::is_layout<Use, T, Layout>(),
                "wmma::fragment: a layout is row_major or col_major; accumulators have none, and "
                "packed elements are row_major in matrix_a and col_major in matrix_b");
  using Traits = element::Traits<T>;

 public:
  using element_type = T;  // of the matrix
  // An element of x[]; several packed ones each.
  using storage_element_type = typename Traits::storage;
  static constexpr bool is_a = std::same_as<Use, matrix_a>;  // the left operand
  static constexpr bool is_b = std::same_as<Use, matrix_b>;  // the right operand
  // Lines of x[]: rows of a and of accumulators, columns of b.
  static constexpr int lines = is_b ? N : M;
  static constexpr int line_length = is_a || is_b ? K : N;            // elements of a line
  enum { num_elements = lines * line_length };                        // of the whole matrix
  enum { num_storage_elements = num_elements / Traits::in_storage };  // of x[]

  storage_element_type x[num_storage_elements];  // the lines, one after another
};

namespace element {

template <class Use, int M, int N, int K, class T>
constexpr int cuda_thread_elements() {
  if (std::same_as<Use, accumulator>) return M * N / 32;
  if (std::same_as<T, half>) return 16;  // each element lies in two threads
  return std::same_as<Use, matrix_a> ? M * K / 32 : K * N / 32;
}

// PTX ISA, matrix storage for wmma: a line starts at a multiple of the bytes of a thread's part.
// Programming Guide: the stride is a multiple of 16 bytes.
inline void check_memory(const void* p, unsigned ldm, int bits, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0)
    throw std::invalid_argument("wmma: the matrix must start at a multiple of " +
                                std::to_string(alignment) + " bytes, as on a GPU");
  if (ldm * static_cast<unsigned>(bits) % 128 != 0)
    throw std::invalid_argument("wmma: a stride of " + std::to_string(ldm) +
                                " elements is no multiple of 16 bytes, as a GPU needs");
}

template <class Use, int M, int N, int K, class T>
void check_memory(const void* p, unsigned ldm) {
  constexpr auto bytes =
      static_cast<std::size_t>(cuda_thread_elements<Use, M, N, K, T>()) * Traits<T>::bits / 8;
  check_memory(p, ldm, Traits<T>::bits, bytes);
}

// Copies between lines of a fragment and memory: element j of line i is at p[i * ldm + j] if
// `contiguous`, else at p[j * ldm + i].
template <bool ToMemory, class S, class P>
void copy_lines(S* x, P* p, unsigned ldm, int lines, int length, bool contiguous) {
  for (int i = 0; i < lines; ++i)
    for (int j = 0; j < length; ++j) {
      const auto place =
          contiguous ? std::size_t{ldm} * static_cast<unsigned>(i) + static_cast<unsigned>(j)
                     : std::size_t{ldm} * static_cast<unsigned>(j) + static_cast<unsigned>(i);
      if constexpr (ToMemory)
        p[place] = x[i * length + j];
      else
        x[i * length + j] = p[place];
    }
}

}  // namespace element

// Loads rows or columns of the matrix, by Layout, from p on, `ldm` elements apart. Throws
// std::invalid_argument where a GPU's behaviour is undefined: a start or a stride not aligned.
template <class Use, int M, int N, int K, class T, class Layout>
requires(!std::same_as<Use, accumulator> && !element::Traits<T>::is_packed) void load_matrix_sync(
    fragment<Use, M, N, K, T, Layout>& f,
    std::type_identity_t<const typename element::Traits<T>::storage>* p, unsigned ldm) {
  using Fragment = fragment<Use, M, N, K, T, Layout>;
  element::check_memory<Use, M, N, K, T>(p, ldm);
  constexpr bool contiguous = std::same_as<Use, matrix_a> == std::same_as<Layout, row_major>;
  element::copy_lines<false>(f.x, p, ldm, Fragment::lines, Fragment::line_length, contiguous);
}

// Loads packed elements, the first in the lowest bits; ldm counts elements.
template <class Use, int M, int N, int K, class T, class Layout>
requires(element::Traits<T>::is_packed) void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f,
                                                              const void* p, unsigned ldm) {
  using Fragment = fragment<Use, M, N, K, T, Layout>;
  element::check_memory<Use, M, N, K, T>(p, ldm);
  constexpr int per_line = Fragment::line_length / element::Traits<T>::in_storage;
  const std::size_t stride = std::size_t{ldm} * element::Traits<T>::bits / 8;
  for (int i = 0; i < Fragment::lines; ++i)
    std::memcpy(f.x + i * per_line,
                static_cast<const char*>(p) + stride * static_cast<std::size_t>(i),
                sizeof(f.x[0]) * per_line);
}

// Loads c, from p on; `ldm` elements lie between the starts of lines of the layout.
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, std::type_identity_t<const T>* p,
                      unsigned ldm, layout_t layout) {
  element::check_memory<accumulator, M, N, K, T>(p, ldm);
  element::copy_lines<false>(f.x, p, ldm, M, N, layout == mem_row_major);
}

// Stores d as load_matrix_sync() loads c, and throws as it does.
template <int M, int N, int K, class T>
void store_matrix_sync(std::type_identity_t<T>* p, const fragment<accumulator, M, N, K, T>& f,
                       unsigned ldm, layout_t layout) {
  element::check_memory<accumulator, M, N, K, T>(p, ldm);
  element::copy_lines<true>(f.x, p, ldm, M, N, layout == mem_row_major);
}

// Sets every element; s4 and u4 take the lowest four bits of `value`, b1 the lowest.
template <class Use, int M, int N, int K, class T, class Layout>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& f,
                   const std::type_identity_t<typename element::Traits<T>::storage>& value) {
  using Traits = element::Traits<T>;
  typename Traits::storage filled = value;
  if constexpr (Traits::is_packed) {
    unsigned bits = 0;
    const unsigned one = static_cast<unsigned>(value) & ((1U << Traits::bits) - 1);
    for (int i = 0; i < Traits::in_storage; ++i) bits |= one << (i * Traits::bits);
    filled = static_cast<typename Traits::storage>(bits);
  }
  for (auto& element : f.x) element = filled;
}

// f32 rounded to the 10 bits of tf32, to nearest, ties away from zero (PTX: cvt.rna.tf32.f32).
inline float __float_to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffff) > 0x7f80'0000) return std::bit_cast<float>(0x7fff'ffffU);
  return std::bit_cast<float>((bits + 0x1000) & 0xffff'e000);
}

}  // namespace on_host
}  // namespace narrowgauge::wmma
