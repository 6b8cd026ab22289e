// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/peak/peak.h"

#include <immintrin.h>

#include "kernels/cpu/lanes/assembly_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// The block of sums that a matrix product would hold: 8 rows of 3 vectors are 24 of 32 registers.
constexpr int rows = 8, vectors = 3;
constexpr std::int64_t lanes = 16;
constexpr std::int64_t depth = peak_bytes / (vectors * 64);

struct F32 {
  static constexpr int operations = 2;  // of a lane, in each instruction
  [[gnu::always_inline]] static void add(__m512i& sum, __m512i a, __m512i b) {
    sum = _mm512_castps_si512(
        _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), _mm512_castsi512_ps(sum)));
  }
};
struct Bf16 {
  static constexpr int operations = 4;
  [[gnu::always_inline]] static void add(__m512i& sum, __m512i a, __m512i b) {
    add_products_of_bf16(sum, a, b);
  }
};
struct Int16 {
  static constexpr int operations = 4;
  [[gnu::always_inline]] static void add(__m512i& sum, __m512i a, __m512i b) {
    add_products_of_int16(sum, a, b);
  }
};
struct Int8 {
  static constexpr int operations = 8;
  [[gnu::always_inline]] static void add(__m512i& sum, __m512i a, __m512i b) {
    add_products_of_bytes(sum, a, b);
  }
};

template <class Lane>
std::int64_t multiply(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  __m512i sums[rows][vectors] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" ::: "memory");  // each round loads again
    const auto* left = reinterpret_cast<const int*>(a);
    const std::byte* right = b;
    for (std::int64_t k = 0; k < depth; ++k, left += rows, right += vectors * 64) {
      __m512i columns[vectors];
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) columns[j] = _mm512_load_si512(right + j * 64);
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        __m512i row = _mm512_set1_epi32(left[i]);
        asm(""
            : "+v"(row));  // kept in a register: an operand of each product would be loaded thrice
#pragma GCC unroll 3
        for (int j = 0; j < vectors; ++j) Lane::add(sums[i][j], row, columns[j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) asm volatile("" : : "v"(sums[i][j]));
  return rounds * depth * rows * vectors * lanes * Lane::operations;
}

}  // namespace

std::int64_t peak_f32(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  return multiply<F32>(a, b, rounds);
}
std::int64_t peak_bf16(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  return multiply<Bf16>(a, b, rounds);
}
std::int64_t peak_int16(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  return multiply<Int16>(a, b, rounds);
}
std::int64_t peak_int8(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  return multiply<Int8>(a, b, rounds);
}

}  // namespace narrowgauge::cpu::avx512
