// SPDX-License-Identifier: Apache-2.0
// wmma/sparse.h on the host: fragments hold whole matrices, metadata that of all 32 threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "narrowgauge/wmma/fragment.h"
#include "narrowgauge/wmma/multiply.h"
#include "narrowgauge/wmma/sparse_layout.h"

namespace narrowgauge::wmma {
inline namespace on_host {

// matrix_a: 16 x K / 2 kept elements; matrix_b: K x 8; accumulator: 16 x 8, of float, half or int.
template <class Use, int K, class T>
class sparse_fragment {
  static constexpr bool is_a = std::same_as<Use, matrix_a>;
  static constexpr bool is_accumulator = std::same_as<Use, accumulator>;
  static_assert(is_a || is_accumulator || std::same_as<Use, matrix_b>,
                "wmma::sparse_fragment: a use is matrix_a, matrix_b or accumulator");
  static_assert(
      is_accumulator
          ? element::is_one_of<T, float, half, int>
          : element::is_one_of<T, half, bfloat16, precision::tf32, signed char, unsigned char>,
      "wmma::sparse_fragment: mma.sp is not offered for elements of this type");

 public:
  using element_type = T;                                             // of the matrix
  using storage_element_type = typename element::Traits<T>::storage;  // what x[] holds
  // Lines of x[]: rows of a and of accumulators, columns of b.
  static constexpr int lines = is_a || is_accumulator ? sparse::rows : sparse::columns;
  static constexpr int line_length = is_a ? K / 2 : is_accumulator ? sparse::columns : K;
  enum { num_elements = lines * line_length };  // of x[]

  storage_element_type x[num_elements];  // the lines, one after another
};

// The metadata: one word for each thread of the warp.
template <int K, class T>
struct sparse_metadata {
  std::uint32_t x[sparse::lanes];  // in the order of the threads
};

// Loads kept elements, rows `ldm` apart; wmma::compress_sparse makes them.
template <int K, class T>
void load_matrix_sync(sparse_fragment<matrix_a, K, T>& a,
                      std::type_identity_t<const typename element::Traits<T>::storage>* p,
                      unsigned ldm) {
  element::check_memory(p, ldm, element::Traits<T>::bits, 4);
  element::copy_lines<false>(a.x, p, ldm, a.lines, a.line_length, true);
}
// Loads b, K rows of 8, by rows or by columns that are `ldm` elements apart.
template <int K, class T>
void load_matrix_sync(sparse_fragment<matrix_b, K, T>& b,
                      std::type_identity_t<const typename element::Traits<T>::storage>* p,
                      unsigned ldm, layout_t layout) {
  element::check_memory(p, ldm, element::Traits<T>::bits, 4);
  element::copy_lines<false>(b.x, p, ldm, b.lines, b.line_length, layout == mem_col_major);
}
// Loads c, 16 rows of 8.
template <int K, class T>
void load_matrix_sync(sparse_fragment<accumulator, K, T>& c, std::type_identity_t<const T>* p,
                      unsigned ldm, layout_t layout) {
  element::check_memory(p, ldm, element::Traits<T>::bits, 4);
  element::copy_lines<false>(c.x, p, ldm, c.lines, c.line_length, layout == mem_row_major);
}
// Stores d, 16 rows of 8.
template <int K, class T>
void store_matrix_sync(std::type_identity_t<T>* p, const sparse_fragment<accumulator, K, T>& c,
                       unsigned ldm, layout_t layout) {
  element::check_memory(p, ldm, element::Traits<T>::bits, 4);
  element::copy_lines<true>(c.x, p, ldm, c.lines, c.line_length, layout == mem_row_major);
}
// Sets every element.
template <class Use, int K, class T>
void fill_fragment(sparse_fragment<Use, K, T>& f,
                   const std::type_identity_t<typename element::Traits<T>::storage>& value) {
  for (auto& element : f.x) element = value;
}
// Takes the 32 words that compress_sparse() makes.
template <int K, class T>
void load_metadata_sync(sparse_metadata<K, T>& metadata, const std::uint32_t* words) {
  for (int lane = 0; lane < sparse::lanes; ++lane) metadata.x[lane] = words[lane];
}

namespace product {

template <class T, class C>
constexpr bool is_sparse_product() {
  if (std::same_as<T, half>) return element::is_one_of<C, half, float>;
  return std::same_as<C, std::conditional_t<is_integer<T>, int, float>>;
}

// The elements of b that row `row` of a multiplies, column after column.
template <int K, class S>
std::array<S, sparse::columns * K / 2> selected(const S* b, const int* columns_of_row) {
  std::array<S, sparse::columns * K / 2> chosen;
  for (int n = 0; n < sparse::columns; ++n)
    for (int k = 0; k < K / 2; ++k)
      chosen[static_cast<std::size_t>(n * K / 2 + k)] = b[n * K + columns_of_row[k]];
  return chosen;
}

template <class T, int K>
void multiply_row(const typename element::Traits<T>::storage* a,
                  const typename element::Traits<T>::storage* b, const int* c, int* d,
                  bool saturate) {
  for (int n = 0; n < sparse::columns; ++n) {
    int sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[n * K + k];
    d[n] = finished(std::int64_t{c[n]} + sum, saturate);
  }
}

}  // namespace product

// d = a b + c over what the metadata selects; `Selector` names the threads whose words count. With
// satf, integer sums stay within the range of int. Throws std::invalid_argument for metadata that
// PTX does not define, a unit without this product, or one whose sparse sums may not be guessed.
template <int Selector = 0, int K, class T, class C>
void mma_sp_sync(sparse_fragment<accumulator, K, C>& d, const sparse_fragment<matrix_a, K, T>& a,
                 const sparse_fragment<matrix_b, K, T>& b,
                 const sparse_fragment<accumulator, K, C>& c, const sparse_metadata<K, T>& metadata,
                 bool satf = false) {
  using Shape = sparse::Shape<K, T>;
  static_assert(product::is_sparse_product<T, C>(),
                "wmma::mma_sp_sync: no product of these operands with these accumulators");
  static_assert(Selector >= 0 && Selector < Shape::selectors,
                "wmma::mma_sp_sync: this shape has fewer selectors");
  constexpr int kept = Shape::kept;
  std::array<int, sparse::rows * kept> columns;
  read_metadata<K, T>(metadata.x, columns.data(), Selector);
  const MatrixUnit chosen = product::current_choice().unit;
  if (chosen < MatrixUnit::a100) unit::refuse(chosen, "has no sparse products");
  const bool is_exact = product::is_integer<T>;
  if (satf && !is_exact) sparse::refuse("mma_sp_sync: only products of integers have satf");
  const UnitModel model = product::model_of(element::Traits<T>::format, element::Traits<C>::format,
                                            is_exact || chosen == MatrixUnit::h100);
  for (int m = 0; m < sparse::rows; ++m) {
    const auto row_of_b = product::selected<K>(b.x, columns.data() + m * kept);
    const auto* row_of_a = a.x + m * kept;
    const C* from = c.x + m * sparse::columns;
    C* to = d.x + m * sparse::columns;
    if constexpr (product::is_integer<T>)
      product::multiply_row<T, kept>(row_of_a, row_of_b.data(), from, to, satf);
    else
      product::multiply_lines<T, C, C, 1, sparse::columns, kept>(model, row_of_a, row_of_b.data(),
                                                                 from, to);
  }
}

}  // namespace on_host
}  // namespace narrowgauge::wmma
