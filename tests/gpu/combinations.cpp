// SPDX-License-Identifier: Apache-2.0
// Prints which fragments and products there are, one letter each. Compiled by nvcc it asks
// nvcuda::wmma, by another compiler narrowgauge's constraints: both must print the same.
#include <cstdio>
#include <narrowgauge/wmma.hpp>
#include <type_traits>

namespace wmma = narrowgauge::wmma;
namespace packed = wmma::experimental::precision;
using wmma::half;

template <int M, int N, int K>
struct Shape {
  static constexpr int m = M, n = N, k = K;
};
template <class... T>
struct List {};
using Shapes =
    List<Shape<16, 16, 16>, Shape<32, 8, 16>, Shape<8, 32, 16>, Shape<16, 16, 8>, Shape<8, 8, 4>,
         Shape<8, 8, 32>, Shape<8, 8, 128>, Shape<16, 8, 16>, Shape<16, 8, 8>, Shape<8, 8, 16>>;
using Types = List<half, wmma::bfloat16, wmma::precision::tf32, double, signed char, unsigned char,
                   packed::s4, packed::u4, packed::b1>;
using Sums = List<half, float, double, int, wmma::bfloat16>;

#if defined(__CUDACC__)
template <class Use, class S, class T, class Layout>
concept IsFragment = requires {
  sizeof(wmma::fragment<Use, S::m, S::n, S::k, T, Layout>);
};

template <class S, class TA, class TB, class C, class D, class LayoutA, class LayoutB>
concept IsProduct = requires(wmma::fragment<wmma::accumulator, S::m, S::n, S::k, D>& d,
                             const wmma::fragment<wmma::matrix_a, S::m, S::n, S::k, TA, LayoutA>& a,
                             const wmma::fragment<wmma::matrix_b, S::m, S::n, S::k, TB, LayoutB>& b,
                             const wmma::fragment<wmma::accumulator, S::m, S::n, S::k, C>& c) {
  wmma::mma_sync(d, a, b, c);
};
#else
template <class Use, class S, class T, class Layout>
concept IsFragment = wmma::element::is_shape<S::m, S::n, S::k> &&
    wmma::element::is_layout<Use, T, Layout>() &&
    (std::is_same_v<Use, wmma::accumulator> ? wmma::element::is_accumulator<S::m, S::n, S::k, T>()
                                            : wmma::element::is_operand<S::m, S::n, S::k, T>());

template <class S, class TA, class TB, class C, class D, class LayoutA, class LayoutB>
concept IsProduct =
    IsFragment<wmma::matrix_a, S, TA, LayoutA> && IsFragment<wmma::matrix_b, S, TB, LayoutB> &&
    IsFragment<wmma::accumulator, S, C, void> && IsFragment<wmma::accumulator, S, D, void> &&
    !std::is_same_v<TA, packed::b1> &&
    wmma::product::is_product<TA, TB, C, D>();
#endif

int count = 0;
void print(bool is_there) {
  std::putchar(is_there ? 'y' : '-');
  if (++count % 80 == 0) std::putchar('\n');
}

template <class S, class T>
void print_fragments() {
  using namespace wmma;
  print(IsFragment<matrix_a, S, T, row_major>);
  print(IsFragment<matrix_a, S, T, col_major>);
  print(IsFragment<matrix_b, S, T, row_major>);
  print(IsFragment<matrix_b, S, T, col_major>);
  print(IsFragment<accumulator, S, T, void>);
}

template <class S, class TA, class TB, class C, class... D>
void print_results(List<D...>) {
  using namespace wmma;
  (print(IsProduct<S, TA, TB, C, D, row_major, col_major>), ...);
  if constexpr (std::is_same_v<C, float> && std::is_same_v<TA, TB>)
    (print(IsProduct<S, TA, TB, C, D, col_major, row_major>), ...);
}
template <class S, class TA, class TB, class... C>
void print_sums(List<C...> sums) {
  (print_results<S, TA, TB, C>(sums), ...);
}
template <class S, class... T>
void print_shape(List<T...>) {
  (print_fragments<S, T>(), ...);
  (print_fragments<S, float>(), print_fragments<S, int>());
  (print_sums<S, T, T>(Sums()), ...);
  print_sums<S, signed char, unsigned char>(Sums());
  print_sums<S, half, wmma::bfloat16>(Sums());
}
template <class... S>
void print_all(List<S...>) {
  (print_shape<S>(Types()), ...);
}

int main() {
  print_all(Shapes());
  std::printf("\n%d\n", count);
}
