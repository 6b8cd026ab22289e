// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/random/random_normals.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <numbers>

#include "kernels/cpu/random/random_fill.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t normals_at_once = 512;

__m256d all(double value) { return _mm256_set1_pd(value); }
__m256i all(std::int64_t bits) { return _mm256_set1_epi64x(bits); }
__m256d fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }

// The coefficients of a polynomial, the highest power first.
template <class... Rest>
__m256d polynomial(__m256d x, double first, Rest... rest) {
  __m256d sum = all(first);
  ((sum = fma(sum, x, all(rest))), ...);
  return sum;
}

// Whole numbers from 0 to 2^52 - 1 as doubles: the bits that follow those of 2^52.
__m256d whole_to_double(__m256i whole) {
  const __m256i bits = _mm256_or_si256(whole, all(std::int64_t{0x4330000000000000}));
  return _mm256_sub_pd(_mm256_castsi256_pd(bits), all(0x1p52));
}

// log(x) of normal x, within 1 ulp: x = 2^k (1 + f) with 1 + f around 1, and the series of
// log((1 + s) / (1 - s)) for s = f / (2 + f), with the coefficients of FDLIBM's e_log.c.
__m256d logarithm(__m256d x) {
  constexpr std::int64_t one = 0x3ff0000000000000, root_of_half = 0x3fe6a09e667f3bcd;
  const __m256i shifted =
      _mm256_add_epi64(_mm256_castpd_si256(x), all(std::int64_t{one - root_of_half}));
  const __m256d k = _mm256_sub_pd(whole_to_double(_mm256_srli_epi64(shifted, 52)), all(1023.0));
  const __m256i fraction = _mm256_and_si256(shifted, all(std::int64_t{0x000fffffffffffff}));
  const __m256d f =
      _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(fraction, all(root_of_half))), all(1.0));
  const __m256d s = _mm256_div_pd(f, _mm256_add_pd(f, all(2.0))), z = _mm256_mul_pd(s, s);
  const __m256d series = _mm256_mul_pd(
      z, polynomial(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                    2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                    6.666666666666735130e-01));
  const __m256d half = _mm256_mul_pd(all(0.5), _mm256_mul_pd(f, f));
  const __m256d low =
      fma(k, all(1.90821492927058770002e-10), _mm256_mul_pd(s, _mm256_add_pd(half, series)));
  const __m256d rest = _mm256_sub_pd(_mm256_sub_pd(half, low), f);
  return _mm256_sub_pd(_mm256_mul_pd(k, all(6.93147180369123816490e-01)), rest);
}

struct Circle {
  __m256d cosine, sine;
};

// The cosine and sine of angles from 0 to 2 pi, within 2 ulp: the angle from the next quarter turn,
// and polynomials with the coefficients of FDLIBM's k_sin.c and k_cos.c.
Circle circle(__m256d angle) {
  const __m256d shifted = fma(angle, all(2 / std::numbers::pi), all(0x1.8p52));
  const __m256d quarters = _mm256_sub_pd(shifted, all(0x1.8p52));
  const __m256i quarter = _mm256_castpd_si256(shifted);  // in the low bits
  __m256d r = fma(quarters, all(-0x1.921fb54442d18p0), angle);
  r = fma(quarters, all(-0x1.1a62633145c07p-54), r);
  const __m256d z = _mm256_mul_pd(r, r);
  const __m256d sine = fma(_mm256_mul_pd(r, z),
                           polynomial(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08,
                                      2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                      8.33333333332248946124e-03, -1.66666666666666324348e-01),
                           r);
  const __m256d cosine = fma(_mm256_mul_pd(z, z),
                             polynomial(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09,
                                        -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                                        -1.38888888888741095749e-03, 4.16666666666666019037e-02),
                             fma(z, all(-0.5), all(1.0)));
  const __m256d odd = _mm256_castsi256_pd(_mm256_slli_epi64(quarter, 63));
  const auto sign = [](__m256i bits) {
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_and_si256(bits, all(std::int64_t{2})), 62));
  };
  return {_mm256_xor_pd(_mm256_blendv_pd(cosine, sine, odd),
                        sign(_mm256_add_epi64(quarter, all(std::int64_t{1})))),
          _mm256_xor_pd(_mm256_blendv_pd(sine, cosine, odd), sign(quarter))};
}

// Rounds to f32; the mask has a bit for each result that an error of 2^-49 could change, and for
// zeros, whose sign it could change. All that was computed here and by libm is within that.
struct Rounded {
  __m128 values;
  int uncertain;
};
Rounded rounded_to_single(__m256d exact) {
  const __m128 low = _mm256_cvtpd_ps(_mm256_mul_pd(exact, all(1 - 0x1p-49)));
  const __m128 high = _mm256_cvtpd_ps(_mm256_mul_pd(exact, all(1 + 0x1p-49)));
  const __m128 sure = _mm_and_ps(_mm_cmpeq_ps(low, high), _mm_cmpneq_ps(low, _mm_setzero_ps()));
  return {high, 0xf & ~_mm_movemask_ps(sure)};
}

// Eight normal numbers from the bits of two blocks; false if any of them is uncertain.
bool eight_normals(const std::uint32_t* bits, float* out) {
  const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits));
  const __m256d first = whole_to_double(_mm256_and_si256(both, all(std::int64_t{0xffffffff})));
  const __m256d second = whole_to_double(_mm256_srli_epi64(both, 32));
  const __m256d uniform = _mm256_mul_pd(_mm256_add_pd(first, all(1.0)), all(0x1p-32));
  const __m256d radius = _mm256_sqrt_pd(_mm256_mul_pd(all(-2.0), logarithm(uniform)));
  const Circle at = circle(_mm256_mul_pd(all(2 * std::numbers::pi * 0x1p-32), second));
  const Rounded even = rounded_to_single(_mm256_mul_pd(radius, at.cosine));
  const Rounded odd = rounded_to_single(_mm256_mul_pd(radius, at.sine));
  _mm_storeu_ps(out, _mm_unpacklo_ps(even.values, odd.values));
  _mm_storeu_ps(out + 4, _mm_unpackhi_ps(even.values, odd.values));
  return (even.uncertain | odd.uncertain) == 0;
}

}  // namespace

void random_normals(const RandomStream& stream, std::uint64_t first, std::int64_t count,
                    float* out) {
  NG_INVARIANT(first % 4 == 0);
  const auto exactly = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += 4) {
      const auto four = stream.normals((first + std::uint64_t(i)) / 4);
      std::copy_n(four.data(), std::min<std::int64_t>(4, end - i), out + i);
    }
  };
  alignas(32) std::array<std::uint32_t, normals_at_once> bits;
  std::int64_t begin = 0;
  while (count - begin >= 8) {
    const std::int64_t length = std::min(normals_at_once, (count - begin) / 8 * 8);
    random_bits(stream, first + std::uint64_t(begin), length, bits.data());
    for (std::int64_t i = 0; i < length; i += 8)
      if (!eight_normals(bits.data() + i, out + begin + i)) exactly(begin + i, begin + i + 8);
    begin += length;
  }
  exactly(begin, count);
}

}  // namespace narrowgauge::cpu
