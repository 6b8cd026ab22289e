// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/byte_sum.h"

#include <immintrin.h>

#include "kernels/cpu/bytes/quantized_finish_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

constexpr std::int64_t together = 32;

class Term {
 public:
  explicit Term(const ByteTerm& term)
      : scale_(_mm512_set1_ps(term.scale)),
        zero_(Sixteens::byte_zero(term.zero + static_cast<float>(signed_offset(term.dtype)))),
        flip_(Sixteens::flip(term.dtype == DType::i8)) {}

  [[gnu::always_inline]] __m512 values(const std::uint8_t* from) const {
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    return _mm512_mul_ps(Sixteens::bytes_less(bytes, flip_, zero_), scale_);
  }

 private:
  __m512 scale_, zero_;
  __m128i flip_;
};

// x / scale in less time: two corrections by fused multiply-adds give the bits of a division
// (P. Markstein, IBM Journal of Research and Development 34, 1990).
class Quotient {
 public:
  explicit Quotient(float scale)
      : scale_(_mm512_set1_ps(scale)), reciprocal_(_mm512_set1_ps(1 / scale)) {}

  [[gnu::always_inline]] __m512 of(__m512 x) const {
    return nearer(x, nearer(x, _mm512_mul_ps(x, reciprocal_)));
  }

 private:
  [[gnu::always_inline]] __m512 nearer(__m512 x, __m512 quotient) const {
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(quotient, scale_, x), reciprocal_, quotient);
  }

  __m512 scale_, reciprocal_;
};

class Adder {
 public:
  explicit Adder(const ByteSum& sum)
      : a_(sum.a),
        b_(sum.b),
        quotient_(sum.y.scale),
        least_(_mm512_set1_ps(sum.relu ? 0.0F : -__builtin_inff())),
        low_(_mm512_set1_ps(sum.y_low - sum.y.zero)),
        high_(_mm512_set1_ps(sum.y_high - sum.y.zero)),
        bytes_(sum.y.dtype, static_cast<std::int32_t>(sum.y.zero)) {}

  void run(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y,
           std::int64_t count) const {
    std::int64_t i = 0;
    for (; i + together <= count; i += together) add(a + i, b + i, y + i);
    if (i == count) return;
    std::uint8_t last[3][together] = {};
    for (std::int64_t k = 0; i + k < count; ++k) {
      last[0][k] = a[i + k];
      last[1][k] = b[i + k];
    }
    add(last[0], last[1], last[2]);
    for (std::int64_t k = 0; i + k < count; ++k) y[i + k] = last[2][k];
  }

 private:
  [[gnu::always_inline]] void add(const std::uint8_t* a, const std::uint8_t* b,
                                  std::uint8_t* y) const {
    constexpr std::int64_t half = together / 2;
    bytes_.store({steps(a, b), steps(a + half, b + half)}, reinterpret_cast<std::byte*>(y));
  }
  [[gnu::always_inline]] __m512 steps(const std::uint8_t* a, const std::uint8_t* b) const {
    const __m512 sum = _mm512_add_ps(a_.values(a), b_.values(b));
    const __m512 steps = quotient_.of(Sixteens::max(sum, least_));
    return Sixteens::min(Sixteens::max(steps, low_), high_);
  }

  Term a_, b_;
  Quotient quotient_;
  __m512 least_, low_, high_;
  ByteRows<true> bytes_;
};

}  // namespace

void add_bytes(const ByteSum& sum, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y,
               std::int64_t count) {
  Adder(sum).run(a, b, y, count);
}

}  // namespace narrowgauge::cpu::avx512
