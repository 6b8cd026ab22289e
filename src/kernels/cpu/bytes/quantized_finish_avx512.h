// SPDX-License-Identifier: Apache-2.0
// Sixteen values of a panel as vectors of AVX-512. Only for *.avx512.cpp and *.amx.cpp.
#pragma once

#ifdef __AVX512BW__

#include <immintrin.h>

#include "kernels/cpu/bytes/quantized_finish_loops.h"
#include "kernels/cpu/lanes/bf16_avx512.h"
#include "kernels/cpu/lanes/gelu_avx512.h"

namespace narrowgauge::cpu::avx512 {

struct Sixteens {
  using Floats = __m512;
  using Ints = __m512i;
  using Flip = __m128i;

  static Flip flip(bool is_signed) {
    return _mm_set1_epi8(static_cast<char>(is_signed ? 0x80 : 0));
  }
  static Floats set(float x) { return _mm512_set1_ps(x); }
  static Ints set(std::int32_t x) { return _mm512_set1_epi32(x); }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static Ints load(const std::int32_t* from) { return _mm512_loadu_si512(from); }
  // Bytes become floats as the last bits of 2^23, from which they are exact.
  static Floats byte_zero(float zero) { return set(0x1p23F + zero); }
  static Floats bytes_less(const std::byte* from, Flip flip, Floats zero) {
    const __m128i sixteen =
        _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), flip);
    const Ints lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const Ints moved =
        _mm512_mask_shuffle_epi8(_mm512_castps_si512(set(0x1p23F)), 0x1111111111111111,
                                 _mm512_maskz_broadcast_i32x4(0xffff, sixteen), lanes);
    return _mm512_sub_ps(_mm512_castsi512_ps(moved), zero);
  }
  static Floats numbers(Ints x) { return _mm512_maskz_cvtepi32_ps(0xffff, x); }
  static Ints sub(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
  static Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints mul(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats max(Floats a, Floats b) { return _mm512_maskz_max_ps(0xffff, a, b); }
  static Floats min(Floats a, Floats b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats gelu(Floats x) {
    Floats one[1] = {x};
    avx512::gelu(one);
    return one[0];
  }
  static void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
  static void store_bf16(std::byte* to, Floats x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrowed_to_bf16(x));
  }
  static void store_bytes(std::byte* to, Floats x, std::int32_t zero, Flip flip) {
    const __mmask16 ordered = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    const Ints moved =
        _mm512_add_epi32(_mm512_maskz_cvtps_epi32(ordered, x), _mm512_set1_epi32(zero));
    const __m128i bytes = _mm512_maskz_cvtusepi32_epi8(
        0xffff, _mm512_maskz_max_epi32(0xffff, moved, _mm512_setzero_si512()));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_xor_si128(bytes, flip));
  }
};

// Two sixteens of a row.
struct SteppedRow {
  __m512 low, high;
};

// Stores a row, or two, as bytes that lie together. `plain`: none is NaN.
template <bool plain>
class ByteRows {
 public:
  ByteRows(DType y, std::int32_t zero)
      : zero_(_mm512_set1_epi16(static_cast<short>(zero + signed_offset(y)))),
        flip_(_mm512_set1_epi8(static_cast<char>(signed_offset(y)))) {}

  [[gnu::always_inline]] void store(const SteppedRow& row, std::byte* to) const {
    const __m512i words = moved(row);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_castsi512_si256(in_order(words, words)));
  }
  [[gnu::always_inline]] void store(const SteppedRow& first, const SteppedRow& second,
                                    std::byte* to, std::int64_t pitch) const {
    const __m512i both = in_order(moved(first), moved(second));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(both));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + pitch),
                        _mm512_maskz_extracti64x4_epi64(0xff, both, 1));
  }

 private:
  static __m512i whole(__m512 x) {
    return _mm512_maskz_cvtps_epi32(
        plain ? __mmask16{0xffff} : _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
  }
  [[gnu::always_inline]] __m512i moved(const SteppedRow& row) const {
    return _mm512_adds_epi16(_mm512_packs_epi32(whole(row.low), whole(row.high)), zero_);
  }
  // Packing goes by lanes of 16 bytes.
  [[gnu::always_inline]] __m512i in_order(__m512i first, __m512i second) const {
    const __m512i bytes = _mm512_xor_si512(_mm512_packus_epi16(first, second), flip_);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }

  __m512i zero_, flip_;
};

// Two panels whose results lie together. `saturates`: as in QuantizedFinish.
template <QuantizedResult y, QuantizedBehind behind, bool saturates>
class QuantizedPair {
 public:
  using Numbers = QuantizedColumnNumbers<Sixteens, y, behind>;
  static constexpr std::int64_t columns = 2 * quantized_panel;

  QuantizedPair(const QuantizedFinish& finish, std::int64_t column)
      : low_(finish, column),
        high_(finish, column + quantized_panel),
        bytes_(finish.y, finish.y_zero) {}

  // Turns a row's sums less their zero points, with the residuals at r, into steps of y.
  [[gnu::always_inline]] SteppedRow steps(__m512i low, __m512i high, const std::byte* r) const {
    if constexpr (behind == QuantizedBehind::gelu) {
      __m512 both[2] = {low_.scaled(low), high_.scaled(high)};
      gelu(both);
      return {low_.template after_gelu<saturates>(both[0]),
              high_.template after_gelu<saturates>(both[1])};
    } else {
      const std::byte* const beside =
          Numbers::has_residual ? r + quantized_panel * Numbers::r_size : nullptr;
      return {steps_of(low_, low, r), steps_of(high_, high, beside)};
    }
  }
  // Stores a row of them.
  [[gnu::always_inline]] void store(const SteppedRow& row, std::byte* to) const {
    if constexpr (y == QuantizedResult::bf16) {
      Sixteens::store_bf16(to, row.low);
      Sixteens::store_bf16(to + 2 * quantized_panel, row.high);
    } else if constexpr (y == QuantizedResult::f32) {
      Sixteens::store(reinterpret_cast<float*>(to), row.low);
      Sixteens::store(reinterpret_cast<float*>(to) + quantized_panel, row.high);
    } else {
      bytes_.store(row, to);
    }
  }
  // Two rows `pitch` elements of y apart.
  [[gnu::always_inline]] void store(const SteppedRow& first, const SteppedRow& second,
                                    std::byte* to, std::int64_t pitch) const {
    if constexpr (y == QuantizedResult::bytes) {
      bytes_.store(first, second, to, pitch);
    } else {
      store(first, to);
      store(second, to + pitch * Numbers::y_size);
    }
  }
  [[gnu::always_inline]] void finish(__m512i low, __m512i high, const std::byte* r,
                                     std::byte* to) const {
    store(steps(low, high, r), to);
  }

 private:
  [[gnu::always_inline]] static __m512 steps_of(const Numbers& numbers, __m512i sums,
                                                const std::byte* r) {
    return saturates ? numbers.unbounded(sums, r) : numbers.steps(sums, r);
  }

  Numbers low_, high_;
  ByteRows<saturates> bytes_;
};

}  // namespace narrowgauge::cpu::avx512

#endif
