// SPDX-License-Identifier: Apache-2.0
// Every sparse product once, from one source: nvcc makes PTX's mma.sp of it. Run, it compares small
// integers, whose sums are exact, with the dense product. Exit code 77: there is no GPU.
#include <cstdio>
#include <exception>
#include <narrowgauge/wmma.hpp>
#include <vector>

namespace wmma = narrowgauge::wmma;
using wmma::half;

template <class T, class S, int K, class C, int Selector>
NG_KERNEL void multiply(const S* values, const std::uint32_t* metadata, const S* b, C* c) {
  wmma::sparse_fragment<wmma::matrix_a, K, T> left;
  wmma::sparse_fragment<wmma::matrix_b, K, T> right;
  wmma::sparse_fragment<wmma::accumulator, K, C> sum;
  wmma::sparse_metadata<K, T> words;
  wmma::load_matrix_sync(left, values, K / 2);
  wmma::load_matrix_sync(right, b, K, wmma::mem_col_major);
  wmma::load_matrix_sync(sum, c, 8, wmma::mem_row_major);
  wmma::load_metadata_sync(words, metadata);
  if constexpr (std::is_same_v<C, int>)
    wmma::mma_sp_sync<Selector>(sum, left, right, sum, words, K == 64);
  else
    wmma::mma_sp_sync<Selector>(sum, left, right, sum, words);
  wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}

int failures = 0;

template <class T, class S, int K, class C, int Selector = 0>
void check(const char* what) {
  constexpr int group = std::is_same_v<S, float> ? 2 : 4;
  wmma::ManagedArray<S> dense(16 * K), values(16 * K / 2), b(8 * K);
  wmma::ManagedArray<C> c(128);
  wmma::ManagedArray<std::uint32_t> metadata(32);
  std::uint32_t random = 1;  // keeps elements at places without a period
  for (int i = 0; i < 16 * K; ++i) {
    if (i % group == 0) random = 1664525 * random + 1013904223;
    dense[i] = S((i + (random >> 16)) % group < group / 2 ? (i * 7) % 11 + 1 : 0);
  }
  for (int i = 0; i < 8 * K; ++i) b[i] = S((i * 5) % 13);
  for (int i = 0; i < 128; ++i) c[i] = C(i);
  wmma::compress_sparse<K>(dense.data(), K, values.data(), K / 2, metadata.data(), Selector);
  wmma::launch(1, 32, multiply<T, S, K, C, Selector>, values.data(), metadata.data(), b.data(),
               c.data());
  int wrong = 0;
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      float sum = static_cast<float>(8 * m + n);
      for (int k = 0; k < K; ++k)
        sum += static_cast<float>(dense[m * K + k]) * static_cast<float>(b[n * K + k]);
      wrong += static_cast<float>(c[8 * m + n]) != static_cast<float>(C(sum));
    }
  std::printf("%s: %d of 128 differ\n", what, wrong);
  failures += wrong;
}

int main() {
  try {
    if (!wmma::has_device()) {
      std::puts("[SKIP] there is no GPU");
      return 77;
    }
    wmma::use_unit(narrowgauge::MatrixUnit::a100, wmma::Unresolved::allowed);
    using wmma::precision::tf32;
    check<half, half, 16, float>("f16, depth 16");
    check<half, half, 16, half, 3>("f16, depth 16, results in f16");
    check<half, half, 32, float, 1>("f16, depth 32");
    check<half, half, 32, half>("f16, depth 32, results in f16");
    check<wmma::bfloat16, wmma::bfloat16, 16, float, 2>("bf16, depth 16");
    check<wmma::bfloat16, wmma::bfloat16, 32, float>("bf16, depth 32");
    check<tf32, float, 8, float, 1>("tf32, depth 8");
    check<tf32, float, 16, float>("tf32, depth 16");
    check<signed char, signed char, 32, int>("s8, depth 32");
    check<signed char, signed char, 32, int, 1>("s8, depth 32, selector 1");
    check<signed char, signed char, 64, int>("s8, depth 64");
    check<unsigned char, unsigned char, 32, int>("u8, depth 32");
    check<unsigned char, unsigned char, 64, int>("u8, depth 64");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
