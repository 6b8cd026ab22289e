// SPDX-License-Identifier: Apache-2.0
// What compiles, and with REFUSED what must not: for every line with a mark the compiler has to say
// the text of the mark (refused.cmake).
#include <narrowgauge/wmma.hpp>

namespace wmma = narrowgauge::wmma;
namespace packed = wmma::experimental::precision;
using wmma::half;

template <class T, class Layout = wmma::row_major, int K = 16>
using A = wmma::fragment<wmma::matrix_a, 16, 16, K, T, Layout>;
template <class T, class Layout = wmma::row_major, int K = 16>
using B = wmma::fragment<wmma::matrix_b, 16, 16, K, T, Layout>;
template <class T>
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, T>;
template <class Use, class Layout>
using Bits = wmma::fragment<Use, 8, 8, 128, packed::b1, Layout>;
template <class Use, class T>
using Sparse = wmma::sparse_fragment<Use, 32, T>;

void compiles(half* halves, float* floats, A<half>& a, B<half, wmma::col_major>& b, C<float>& c) {
  wmma::load_matrix_sync(a, halves, 16);
  wmma::load_matrix_sync(b, halves, 16);
  wmma::load_matrix_sync(c, floats, 16, wmma::mem_row_major);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(floats, c, 16, wmma::mem_col_major);
}

#if defined(REFUSED)
// clang-format off
void shapes_and_types() {
  A<half, wmma::row_major, 32> a_deep;  // refused: CUDA has no such shape
  A<half, wmma::row_major, 8> a_short;  // refused: CUDA has no elements of this type in this shape
  A<half, void> no_layout;  // refused: a layout is row_major or col_major
  wmma::fragment<wmma::accumulator, 16, 16, 16, float, wmma::row_major> with;  // refused: accumulators have none
  wmma::fragment<wmma::matrix_a, 8, 8, 32, packed::s4, wmma::col_major> s4;  // refused: packed elements are row_major in matrix_a
  wmma::fragment<half, 16, 16, 16, half, wmma::row_major> no_use;  // refused: a use is matrix_a, matrix_b or accumulator
  C<double> doubles;  // refused: CUDA has no elements of this type in this shape
  wmma::sparse_fragment<wmma::matrix_a, 16, double> sparse;  // refused: mma.sp is not offered for elements of this type
}

void products(A<half>& a, B<half>& b, C<float>& c, C<int>& sums, C<half>& halves,
              wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::row_major>& wide) {
  wmma::mma_sync(sums, A<signed char>(), B<unsigned char>(), sums);  // refused: a and b of the same type only
  wmma::mma_sync(c, A<wmma::bfloat16>(), B<wmma::bfloat16>(), halves);  // refused: no product of these operands with these accumulators
  wmma::mma_sync(sums, a, b, sums);  // refused: no product of these operands with these accumulators
  wmma::mma_sync(c, a, b, c, true);  // refused: only products of integers have satf
  wmma::mma_sync(c, a, wide, c);  // refused: no matching function for call to 'mma_sync
}

void bits(wmma::fragment<wmma::accumulator, 8, 8, 128, int>& sums,
          Bits<wmma::matrix_a, wmma::row_major>& a, Bits<wmma::matrix_b, wmma::col_major>& b) {
  wmma::mma_sync(sums, a, b, sums);  // refused: multiplied by bmma_sync
}

void memory(half* halves, float* floats, A<half>& a, C<float>& c) {
  wmma::load_matrix_sync(c, floats, 16);  // refused: no matching function for call to 'load_matrix_sync
  wmma::load_matrix_sync(a, floats, 16);  // refused: no matching function for call to 'load_matrix_sync
  wmma::store_matrix_sync(halves, a, 16, wmma::mem_row_major);  // refused: no matching function for call to 'store_matrix_sync
}

void sparse(half* halves, unsigned* metadata, Sparse<wmma::accumulator, float>& c,
            Sparse<wmma::matrix_a, half>& a, Sparse<wmma::matrix_b, half>& b,
            wmma::sparse_metadata<32, half>& words) {
  wmma::compress_sparse<64>(halves, 64, halves, 32, metadata);  // refused: mma.sp has a depth of 16 or 32 for half
  wmma::mma_sp_sync<2>(c, a, b, c, words);  // refused: this shape has fewer selectors
}
// clang-format on
#endif
