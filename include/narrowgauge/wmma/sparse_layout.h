// SPDX-License-Identifier: Apache-2.0
// How a sparse operand and its metadata lie in memory, and how both are made from a dense tile (PTX
// ISA, mma.sp: sparse matrix storage, and the fragments of each shape). For the host, also under
// nvcc.
//
// Metadata: 4 bits for each group of a row, the first group in the lowest. Of four elements these
// are two indices of 2 bits, the smaller one first; of two tf32, 0100 for the first and 1110 for
// the second. 16 bits of a row make a chunk; thread 4 (row mod 8) + chunk + chunks * selector of
// the warp holds that of a row below 8 in its lower half, and that of row + 8 in its upper half.
// Bytes are otherwise: thread 4 (row mod 8) + 2 (chunk / 2) + row / 8 + chunks * selector holds the
// even chunk of a row in its lower half and the next in its upper half. An H100 reads them so.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "narrowgauge/wmma/number.h"

namespace narrowgauge::wmma {

namespace sparse {

inline constexpr int rows = 16, columns = 8, lanes = 32;

template <int K, class T>
struct Shape {
  static constexpr bool is_16_bits = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
  static constexpr bool is_byte =
      std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;
  static constexpr bool is_tf32 = !is_16_bits && !is_byte;  // precision::tf32, or float in memory
  static_assert(!std::is_same_v<T, double> && !std::is_same_v<T, int>,
                "wmma: mma.sp is not offered for elements of this type");
  static constexpr int shortest = is_byte ? 32 : is_16_bits ? 16 : 8;
  static_assert(K == shortest || K == 2 * shortest,
                "wmma: mma.sp has a depth of 16 or 32 for half and bfloat16, 8 or 16 for tf32, and "
                "32 or 64 for bytes");
  static constexpr int group = is_tf32 ? 2 : 4, kept_of_group = group / 2;
  static constexpr int kept = K / 2, groups = K / group;
  static constexpr int chunks = groups / 4;  // 16 bits each
  static constexpr int selectors = 4 / chunks;
};

// The indices of a group's first and second kept element.
struct Indices {
  int first, second;
};
template <int K, class T>
constexpr unsigned metadata_bits(Indices indices) {
  if (Shape<K, T>::is_tf32) return indices.first ? 0b1110 : 0b0100;
  return static_cast<unsigned>(indices.first | indices.second << 2);
}

// Which of the 32 words holds the bits of a row's group, and from which bit on.
struct Place {
  int lane, shift;
};
template <int K, class T>
constexpr Place place_of(int row, int group, int selector) {
  const int first = 4 * (row % 8) + Shape<K, T>::chunks * selector;
  if (Shape<K, T>::is_byte) return {first + 2 * (group / 8) + row / 8, 4 * (group % 8)};
  return {first + group / 4, 16 * (row / 8) + 4 * (group % 4)};
}

[[noreturn]] inline void refuse(const std::string& what) {
  throw std::invalid_argument("wmma: " + what);
}

template <class T>
bool is_zero(T value) {
  return static_cast<float>(value) == 0;
}

// Indices of the elements that are not zero, then of the first others: two in rising order, or one.
template <int K, class T>
Indices kept_indices(const T* group, int row, int first_column) {
  using S = Shape<K, T>;
  bool is_kept[4] = {};
  int count = 0;
  for (int i = 0; i < S::group; ++i)
    if (!is_zero(group[i])) is_kept[i] = true, ++count;
  if (count > S::kept_of_group)
    refuse("compress_sparse: row " + std::to_string(row) + " has " + std::to_string(count) +
           " of " + std::to_string(S::group) + " elements that are not zero, from column " +
           std::to_string(first_column) + " on; at most " + std::to_string(S::kept_of_group) +
           " can be kept");
  for (int i = 0; count < S::kept_of_group; ++i)
    if (!is_kept[i]) is_kept[i] = true, ++count;
  Indices indices{-1, -1};
  for (int i = 0; i < S::group; ++i)
    if (is_kept[i]) (indices.first < 0 ? indices.first : indices.second) = i;
  return indices;
}

inline void check_selector(int selector, int selectors) {
  if (selector < 0 || selector >= selectors)
    refuse("the selector of this shape is below " + std::to_string(selectors) + ", not " +
           std::to_string(selector));
}

}  // namespace sparse

#if defined(__CUDACC__)
inline namespace on_device {
#else
inline namespace on_host {
#endif

// Turns a dense tile of 16 rows of K elements, `dense_stride` apart, into 16 rows of K / 2 elements
// and 32 words of metadata, one for each thread of a warp; words that the selector does not name
// are 0. tf32 is float here. Throws std::invalid_argument if a group has too many non-zero
// elements.
template <int K, class T>
void compress_sparse(const T* dense, int dense_stride, T* values, int value_stride,
                     std::uint32_t* metadata, int selector = 0) {
  using Shape = sparse::Shape<K, T>;
  sparse::check_selector(selector, Shape::selectors);
  for (int lane = 0; lane < sparse::lanes; ++lane) metadata[lane] = 0;
  for (int row = 0; row < sparse::rows; ++row)
    for (int group = 0; group < Shape::groups; ++group) {
      const int column = group * Shape::group;
      const T* from = dense + row * dense_stride + column;
      T* to = values + row * value_stride + group * Shape::kept_of_group;
      const sparse::Indices kept = sparse::kept_indices<K>(from, row, column);
      to[0] = from[kept.first];
      if (Shape::kept_of_group == 2) to[1] = from[kept.second];
      const sparse::Place place = sparse::place_of<K, T>(row, group, selector);
      metadata[place.lane] |= sparse::metadata_bits<K, T>(kept) << place.shift;
    }
}

// The column of every kept element: K / 2 for each of 16 rows. Throws std::invalid_argument for
// bits that are not indices in rising order, whose meaning PTX leaves open.
template <int K, class T>
void read_metadata(const std::uint32_t* metadata, int* columns, int selector = 0) {
  using Shape = sparse::Shape<K, T>;
  sparse::check_selector(selector, Shape::selectors);
  for (int row = 0; row < sparse::rows; ++row)
    for (int group = 0; group < Shape::groups; ++group) {
      const sparse::Place place = sparse::place_of<K, T>(row, group, selector);
      const unsigned bits = metadata[place.lane] >> place.shift & 0xf;
      const sparse::Indices indices =
          Shape::is_tf32 ? sparse::Indices{bits == 0b1110 ? 1 : 0, -1}
                         : sparse::Indices{static_cast<int>(bits & 3), static_cast<int>(bits >> 2)};
      const bool is_known =
          Shape::is_tf32 ? bits == 0b1110 || bits == 0b0100 : indices.first < indices.second;
      if (!is_known)
        sparse::refuse(
            "metadata: the bits of row " + std::to_string(row) + ", group " +
            std::to_string(group) + " are " + std::to_string(bits) +
            (Shape::is_tf32 ? ", neither 4 nor 14" : ", no two indices in rising order"));
      int* of_group = columns + row * Shape::kept + group * Shape::kept_of_group;
      of_group[0] = group * Shape::group + indices.first;
      if (Shape::kept_of_group == 2) of_group[1] = group * Shape::group + indices.second;
    }
}

}  // inline namespace
}  // namespace narrowgauge::wmma
