// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/update/gradient_health.h"

#include "kernels/cpu/lanes/simd_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

// Sixteen sums in two vectors.
struct Squares {
  __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();

  [[gnu::always_inline]] void add(Float16 x) {
    constexpr __mmask8 every = 0xff;
    const __m512d a = _mm512_maskz_cvtps_pd(every, _mm512_castps512_ps256(x.value));
    const __m512d b = _mm512_maskz_cvtps_pd(
        every, _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(every, _mm512_castps_pd(x.value), 1)));
    low = _mm512_fmadd_pd(a, a, low);
    high = _mm512_fmadd_pd(b, b, high);
  }

  // Adds lane l and lane l + 8, then lanes 4, 2 and 1 apart.
  double sum() const {
    alignas(64) double lane[8];
    _mm512_store_pd(lane, _mm512_add_pd(low, high));
    for (int half = 4; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
  }
};

template <class Stored>
double sum_of(const Stored* x, std::int64_t count) {
  Squares squares;
  std::int64_t i = 0;
  for (; i + Float16::lanes <= count; i += Float16::lanes) squares.add(Float16::load(x + i));
  alignas(64) float rest[Float16::lanes]{};
  for (std::int64_t l = 0; i < count; ++i, ++l) rest[l] = Float16::one(x[i]);
  squares.add(Float16::load(rest));
  return squares.sum();
}

}  // namespace

double square_sum(ConstArray array, std::int64_t begin, std::int64_t end) {
  const auto of = [&]<class Stored>(const Stored* x) { return sum_of(x + begin, end - begin); };
  switch (array.dtype) {
    case DType::f16:
      return of(static_cast<const Float16::F16*>(array.data));
    case DType::bf16:
      return of(static_cast<const Float16::Bf16*>(array.data));
    default:
      return of(static_cast<const float*>(array.data));
  }
}

}  // namespace narrowgauge::cpu::avx512
