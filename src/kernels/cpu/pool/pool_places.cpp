// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/pool_places.h"

#include <immintrin.h>

#include <limits>

namespace narrowgauge::cpu {
namespace {

// Eight channels of f32. The maximum is its second operand where one is NaN.
struct LargestFloats {
  using Element = float;
  using Vector = __m256;
  static constexpr std::int64_t lanes = 8;
  static Vector start() { return _mm256_set1_ps(-std::numeric_limits<float>::infinity()); }
  static Vector fold(Vector best, const float* from) {
    const __m256 x = _mm256_loadu_ps(from);
    return _mm256_blendv_ps(_mm256_max_ps(x, best), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  }
  static void store(float* to, Vector best) { _mm256_storeu_ps(to, best); }
};

struct SumOfFloats {
  using Element = float;
  using Vector = __m256;
  static constexpr std::int64_t lanes = 8;
  static Vector start() { return _mm256_setzero_ps(); }
  static Vector fold(Vector sum, const float* x) { return _mm256_add_ps(sum, _mm256_loadu_ps(x)); }
  static void store(float* to, Vector sum) { _mm256_storeu_ps(to, sum); }
};

// Sixteen channels of bf16 as whole numbers without a sign, in the order of the values from
// -infinity, which is 0, to infinity. NaN of either sign is above.
struct LargestBf16 {
  using Element = Bf16;
  using Vector = __m256i;
  static constexpr std::int64_t lanes = 16;
  static Vector start() { return _mm256_setzero_si256(); }
  static Vector fold(Vector best, const Bf16* from) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm256_max_epu16(best, _mm256_sub_epi16(flip_negative(x), least()));
  }
  static void store(Bf16* to, Vector best) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        flip_negative(_mm256_add_epi16(best, least())));
  }

 private:
  // Orders numbers with a sign as the values; the same again gives the bits back.
  static __m256i flip_negative(__m256i x) {
    return _mm256_xor_si256(x, _mm256_srli_epi16(_mm256_srai_epi16(x, 15), 1));
  }
  static __m256i least() {  // -infinity, flipped
    return _mm256_set1_epi16(static_cast<std::int16_t>(0xff80 ^ 0x7fff));
  }
};

// Folds `vectors` of channels over all taps.
template <class Fold, int vectors>
void fold_taps(const WindowTaps<typename Fold::Element>& window, std::int64_t channel,
               typename Fold::Element* y) {
  typename Fold::Vector result[vectors];
  for (int v = 0; v < vectors; ++v) result[v] = Fold::start();
  for (std::int64_t tap = 0; tap < window.count; ++tap)
    for (int v = 0; v < vectors; ++v)
      result[v] = Fold::fold(result[v], window.taps[tap] + channel + v * Fold::lanes);
  for (int v = 0; v < vectors; ++v) Fold::store(y + channel + v * Fold::lanes, result[v]);
}

// The channels that are left over pass through a buffer.
template <class Fold>
void fold_rest(const WindowTaps<typename Fold::Element>& window, std::int64_t channel,
               typename Fold::Element* y) {
  const std::int64_t rest = window.channels - channel;
  typename Fold::Element values[Fold::lanes] = {};
  typename Fold::Vector result = Fold::start();
  for (std::int64_t tap = 0; tap < window.count; ++tap) {
    std::copy_n(window.taps[tap] + channel, rest, values);
    result = Fold::fold(result, values);
  }
  Fold::store(values, result);
  std::copy_n(values, rest, y + channel);
}

template <class Fold>
void fold_window(const WindowTaps<typename Fold::Element>& window, typename Fold::Element* y) {
  constexpr int most = 8;
  std::int64_t channel = 0;
  for (; channel + most * Fold::lanes <= window.channels; channel += most * Fold::lanes)
    fold_taps<Fold, most>(window, channel, y);
  for (; channel + most / 2 * Fold::lanes <= window.channels; channel += most / 2 * Fold::lanes)
    fold_taps<Fold, most / 2>(window, channel, y);
  for (; channel + Fold::lanes <= window.channels; channel += Fold::lanes)
    fold_taps<Fold, 1>(window, channel, y);
  if (channel < window.channels) fold_rest<Fold>(window, channel, y);
}

}  // namespace

void largest_of(const WindowTaps<float>& window, float* y) {
  fold_window<LargestFloats>(window, y);
}
void largest_of(const WindowTaps<Bf16>& window, Bf16* y) { fold_window<LargestBf16>(window, y); }

void mean_of(const WindowTaps<float>& window, float divisor, float* y) {
  fold_window<SumOfFloats>(window, y);
  for (std::int64_t i = 0; i < window.channels; ++i) y[i] /= divisor;
}

}  // namespace narrowgauge::cpu
