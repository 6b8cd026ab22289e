// SPDX-License-Identifier: Apache-2.0
// Transposes of small squares in registers, by element size.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace narrowgauge::cpu {

// target[r * target_stride + c] = source[c * source_stride + r] for r, c < size.
template <class Word>
struct TransposeTile;

template <>
struct TransposeTile<std::uint64_t> {
  static constexpr std::int64_t size = 4;
  static void run(const std::uint64_t* source, std::int64_t source_stride, std::uint64_t* target,
                  std::int64_t target_stride) {
    __m256i in[4], pair[4];
    for (int c = 0; c < 4; ++c)
      in[c] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + c * source_stride));
    for (int c = 0; c < 4; c += 2) {
      pair[c] = _mm256_unpacklo_epi64(in[c], in[c + 1]);
      pair[c + 1] = _mm256_unpackhi_epi64(in[c], in[c + 1]);
    }
    for (int r = 0; r < 2; ++r) {
      store(target + r * target_stride, _mm256_permute2x128_si256(pair[r], pair[r + 2], 0x20));
      store(target + (r + 2) * target_stride,
            _mm256_permute2x128_si256(pair[r], pair[r + 2], 0x31));
    }
  }

 private:
  static void store(std::uint64_t* target, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), value);
  }
};

template <>
struct TransposeTile<std::uint32_t> {
  static constexpr std::int64_t size = 8;
  static void run(const std::uint32_t* source, std::int64_t source_stride, std::uint32_t* target,
                  std::int64_t target_stride) {
    __m256i in[8], two[8], four[8];
    for (int c = 0; c < 8; ++c)
      in[c] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + c * source_stride));
    for (int c = 0; c < 8; c += 2) {
      two[c] = _mm256_unpacklo_epi32(in[c], in[c + 1]);
      two[c + 1] = _mm256_unpackhi_epi32(in[c], in[c + 1]);
    }
    for (int c = 0; c < 8; c += 4)  // four[c + r]: rows r and r + 4 of columns c to c + 3
      for (int r = 0; r < 2; ++r) {
        four[c + 2 * r] = _mm256_unpacklo_epi64(two[c + r], two[c + r + 2]);
        four[c + 2 * r + 1] = _mm256_unpackhi_epi64(two[c + r], two[c + r + 2]);
      }
    for (int r = 0; r < 4; ++r) {
      store(target + r * target_stride, _mm256_permute2x128_si256(four[r], four[r + 4], 0x20));
      store(target + (r + 4) * target_stride,
            _mm256_permute2x128_si256(four[r], four[r + 4], 0x31));
    }
  }

 private:
  static void store(std::uint32_t* target, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), value);
  }
};

template <>
struct TransposeTile<std::uint16_t> {
  static constexpr std::int64_t size = 8;
  static void run(const std::uint16_t* source, std::int64_t source_stride, std::uint16_t* target,
                  std::int64_t target_stride) {
    __m128i in[8], two[8], four[8];
    for (int c = 0; c < 8; ++c)
      in[c] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + c * source_stride));
    for (int c = 0; c < 8; c += 2) {
      two[c] = _mm_unpacklo_epi16(in[c], in[c + 1]);
      two[c + 1] = _mm_unpackhi_epi16(in[c], in[c + 1]);
    }
    for (int c = 0; c < 8; c += 4)  // four[c + i]: rows 2i and 2i + 1 of columns c to c + 3
      for (int half = 0; half < 2; ++half) {
        four[c + 2 * half] = _mm_unpacklo_epi32(two[c + half], two[c + half + 2]);
        four[c + 2 * half + 1] = _mm_unpackhi_epi32(two[c + half], two[c + half + 2]);
      }
    for (int i = 0; i < 4; ++i) {
      store(target + 2 * i * target_stride, _mm_unpacklo_epi64(four[i], four[i + 4]));
      store(target + (2 * i + 1) * target_stride, _mm_unpackhi_epi64(four[i], four[i + 4]));
    }
  }

 private:
  static void store(std::uint16_t* target, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), value);
  }
};

template <>
struct TransposeTile<std::uint8_t> {
  static constexpr std::int64_t size = 8;
  static void run(const std::uint8_t* source, std::int64_t source_stride, std::uint8_t* target,
                  std::int64_t target_stride) {
    __m128i two[4], four[4], eight[4];
    for (int c = 0; c < 4; ++c)
      two[c] = _mm_unpacklo_epi8(load(source + 2 * c * source_stride),
                                 load(source + (2 * c + 1) * source_stride));
    for (int c = 0; c < 4; c += 2) {
      four[c] = _mm_unpacklo_epi16(two[c], two[c + 1]);      // rows 0 to 3
      four[c + 1] = _mm_unpackhi_epi16(two[c], two[c + 1]);  // rows 4 to 7
    }
    for (int half = 0; half < 2; ++half) {
      eight[2 * half] = _mm_unpacklo_epi32(four[half], four[half + 2]);
      eight[2 * half + 1] = _mm_unpackhi_epi32(four[half], four[half + 2]);
    }
    for (int i = 0; i < 4; ++i) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(target + 2 * i * target_stride), eight[i]);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(target + (2 * i + 1) * target_stride),
                       _mm_unpackhi_epi64(eight[i], eight[i]));
    }
  }

 private:
  static __m128i load(const std::uint8_t* source) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source));
  }
};

}  // namespace narrowgauge::cpu
