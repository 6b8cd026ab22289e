// SPDX-License-Identifier: Apache-2.0
// Rows of scores become shares of bf16, two rows at a time, as each would wait for itself. Only for
// *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/tiles.amx.h"
#include "kernels/cpu/attention/attention_rows.h"

namespace narrowgauge::cpu::amx {

// The scores of 32 queries [32][pitch] for the same keys, a multiple of 32 that are all visible.
struct ScoreBlock {
  float* scores;
  std::int64_t pitch, keys;
  const float* mask;  // of all queries; may be null
  float scale;
};

// The steps of RowLoops<Float>::exponential(), with the same bits.
template <int count>
[[gnu::always_inline]] inline void exponentials(__m512 (&x)[count]) {
  constexpr float terms[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                             4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
  const __m512 to_integer = _mm512_set1_ps(0x1.8p23F),
               log2_e = _mm512_set1_ps(1.44269504088896341F);
  __m512 n[count], r[count], p[count];
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    x[i] = _mm512_min_ps(_mm512_set1_ps(89.0F), _mm512_max_ps(_mm512_set1_ps(-104.0F), x[i]));
    n[i] = _mm512_sub_ps(_mm512_fmadd_ps(x[i], log2_e, to_integer), to_integer);
    r[i] = _mm512_fmadd_ps(n[i], _mm512_set1_ps(-0.693359375F), x[i]);
    r[i] = _mm512_fmadd_ps(n[i], _mm512_set1_ps(2.12194440e-4F), r[i]);
    p[i] = _mm512_set1_ps(terms[0]);
  }
#pragma GCC unroll 8
  for (int k = 1; k < 6; ++k)
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i) p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(terms[k]));
#pragma GCC unroll 4
  for (int i = 0; i < count; ++i) {
    p[i] = _mm512_fmadd_ps(p[i], _mm512_mul_ps(r[i], r[i]), r[i]);
    x[i] = _mm512_scalef_ps(_mm512_add_ps(p[i], _mm512_set1_ps(1.0F)), n[i]);
  }
}

// The largest score of each of two rows, all of which are scaled and masked.
[[gnu::always_inline]] inline void scale_two(const ScoreBlock& block, float* scores,
                                             float (&largest)[2]) {
  const __m512 scale = _mm512_set1_ps(block.scale);
  __m512 most[2] = {_mm512_set1_ps(-__builtin_inff()), _mm512_set1_ps(-__builtin_inff())};
  for (std::int64_t k = 0; k < block.keys; k += 16)
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
      float* const at = scores + r * block.pitch + k;
      const __m512 product = _mm512_load_ps(at);
      const __m512 x = block.mask ? _mm512_fmadd_ps(product, scale, _mm512_loadu_ps(block.mask + k))
                                  : _mm512_mul_ps(product, scale);
      _mm512_store_ps(at, x);
      most[r] = _mm512_max_ps(x, most[r]);
    }
  for (int r = 0; r < 2; ++r) largest[r] = _mm512_reduce_max_ps(most[r]);
}

// Stores exp(score - largest) of the rows in blocks of A, 32 keys in each; the sums are of those
// that are not rounded.
[[gnu::always_inline]] inline void make_shares(const ScoreBlock& block, std::byte* blocks,
                                               RowShares (&sums)[attention_block]) {
  for (std::int64_t row = 0; row < attention_block; row += 2) {
    float* const scores = block.scores + row * block.pitch;
    float largest[2];
    scale_two(block, scores, largest);
    __m512 shift[2], sum[2];
    for (int r = 0; r < 2; ++r) {
      shift[r] = _mm512_set1_ps(largest[r] == -__builtin_inff() ? 0.0F : largest[r]);
      sum[r] = _mm512_setzero_ps();
    }
    std::byte* to = blocks + row * 64;
    for (std::int64_t k = 0; k < block.keys; k += 32, to += block_bytes) {
      __m512 e[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        e[i] = _mm512_sub_ps(_mm512_load_ps(scores + i / 2 * block.pitch + k + i % 2 * 16),
                             shift[i / 2]);
      exponentials(e);
#pragma GCC unroll 2
      for (int r = 0; r < 2; ++r) {
        sum[r] = _mm512_add_ps(_mm512_add_ps(sum[r], e[2 * r]), e[2 * r + 1]);
        _mm512_store_si512(to + r * 64, to_bf16(e[2 * r], e[2 * r + 1]));
      }
    }
    for (int r = 0; r < 2; ++r) sums[row + r] = {largest[r], _mm512_reduce_add_ps(sum[r])};
  }
}

}  // namespace narrowgauge::cpu::amx

#endif
