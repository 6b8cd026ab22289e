// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/pool_places.h"

#include <immintrin.h>

#include <limits>

namespace narrowgauge::cpu {
namespace {

// Folds `vectors` times 8 channels of all taps.
template <int vectors, class Fold>
[[gnu::always_inline]] inline void fold_taps(const WindowTaps& window, std::int64_t channel,
                                             float start, float* y, const Fold& fold) {
  __m256 result[vectors];
  for (int v = 0; v < vectors; ++v) result[v] = _mm256_set1_ps(start);
  for (std::int64_t tap = 0; tap < window.count; ++tap) {
    const float* const x = window.taps[tap] + channel;
    for (int v = 0; v < vectors; ++v) result[v] = fold(result[v], _mm256_loadu_ps(x + 8 * v));
  }
  for (int v = 0; v < vectors; ++v) _mm256_storeu_ps(y + channel + 8 * v, result[v]);
}

// The channels that are left over pass through a buffer.
template <class Fold>
[[gnu::always_inline]] inline void fold_rest(const WindowTaps& window, std::int64_t channel,
                                             float start, float* y, const Fold& fold) {
  const std::int64_t rest = window.channels - channel;
  alignas(32) float values[8] = {};
  __m256 result = _mm256_set1_ps(start);
  for (std::int64_t tap = 0; tap < window.count; ++tap) {
    std::copy_n(window.taps[tap] + channel, rest, values);
    result = fold(result, _mm256_load_ps(values));
  }
  _mm256_store_ps(values, result);
  std::copy_n(values, rest, y + channel);
}

template <class Fold>
[[gnu::always_inline]] inline void fold_window(const WindowTaps& window, float start, float* y,
                                               const Fold& fold) {
  std::int64_t channel = 0;
  for (; channel + 64 <= window.channels; channel += 64)
    fold_taps<8>(window, channel, start, y, fold);
  for (; channel + 8 <= window.channels; channel += 8)
    fold_taps<1>(window, channel, start, y, fold);
  if (channel < window.channels) fold_rest(window, channel, start, y, fold);
}

}  // namespace

// The maximum is its second operand where one is NaN.
void largest_of(const WindowTaps& window, float* y) {
  fold_window(
      window, -std::numeric_limits<float>::infinity(), y,
      [](__m256 best, __m256 x) __attribute__((always_inline)) {
        return _mm256_blendv_ps(_mm256_max_ps(x, best), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
      });
}

void mean_of(const WindowTaps& window, float divisor, float* y) {
  fold_window(
      window, 0, y,
      [](__m256 sum, __m256 x) __attribute__((always_inline)) { return _mm256_add_ps(sum, x); });
  for (std::int64_t i = 0; i < window.channels; ++i) y[i] /= divisor;
}

}  // namespace narrowgauge::cpu
