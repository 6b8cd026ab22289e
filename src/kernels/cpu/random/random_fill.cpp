// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/random/random_fill.h"

#include <immintrin.h>

#include <algorithm>
#include <array>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/lanes/row_math.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t grain = 8192;
constexpr std::int64_t numbers_at_once = 32, most_at_once = 64;  // blocks of four

struct Product {
  __m256i high, low;
};
// The two halves of the 64-bit products value * factor.
Product multiply(__m256i value, std::uint32_t factor) {
  const __m256i factors = _mm256_set1_epi32(static_cast<int>(factor));
  const __m256i even = _mm256_mul_epu32(value, factors);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(value, 32), factors);
  return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA),
          _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
}

__m256i all_words(std::uint64_t bits) {
  return _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(bits)));
}

__m256i exclusive_or(__m256i a, __m256i b, __m256i c) {
  return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

// out[4 * b + i] = x[i] of block b.
void store_blocks(const __m256i (&x)[4], std::uint32_t* out) {
  const __m256i low01 = _mm256_unpacklo_epi32(x[0], x[1]),
                low23 = _mm256_unpacklo_epi32(x[2], x[3]);
  const __m256i high01 = _mm256_unpackhi_epi32(x[0], x[1]),
                high23 = _mm256_unpackhi_epi32(x[2], x[3]);
  const __m256i block[4] = {
      // b and b + 4
      _mm256_unpacklo_epi64(low01, low23), _mm256_unpackhi_epi64(low01, low23),
      _mm256_unpacklo_epi64(high01, high23), _mm256_unpackhi_epi64(high01, high23)};
  auto* to = reinterpret_cast<__m128i*>(out);
  for (int b = 0; b < 4; ++b) {
    _mm_storeu_si128(to + b, _mm256_castsi256_si128(block[b]));
    _mm_storeu_si128(to + b + 4, _mm256_extracti128_si256(block[b], 1));
  }
}

// Computes philox() of base/random.h for blocks first to first + 7, none of which carries into the
// upper half of the counter.
void philox_eight(const RandomStream& stream, std::uint64_t first, std::uint32_t* out) {
  __m256i x[4] = {_mm256_add_epi32(all_words(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                  all_words(first >> 32), all_words(stream.step()), all_words(stream.step() >> 32)};
  __m256i k0 = all_words(stream.key()), k1 = all_words(stream.key() >> 32);
  for (int round = 0; round < 10; ++round) {
    const Product a = multiply(x[0], 0xD2511F53), b = multiply(x[2], 0xCD9E8D57);
    x[0] = exclusive_or(b.high, x[1], k0);
    x[1] = b.low;
    x[2] = exclusive_or(a.high, x[3], k1);
    x[3] = a.low;
    k0 = _mm256_add_epi32(k0, all_words(0x9E3779B9));
    k1 = _mm256_add_epi32(k1, all_words(0xBB67AE85));
  }
  store_blocks(x, out);
}

}  // namespace

void random_bits(const RandomStream& stream, std::uint64_t first, std::int64_t count,
                 std::uint32_t* out) {
  const auto block = [&](std::int64_t i) { return (first + std::uint64_t(i)) / 4; };
  std::int64_t i = 0;
  for (; i < count && (first + std::uint64_t(i)) % 4 != 0; ++i)
    out[i] = stream.bits(first + std::uint64_t(i));
  static const bool has_avx512 = isa() >= Isa::avx512;
  if (has_avx512)
    for (; i + most_at_once <= count; i += most_at_once)
      avx512::philox_sixteen(stream, block(i), out + i);
  for (; i + numbers_at_once <= count && block(i) >> 32 == (block(i) + 7) >> 32;
       i += numbers_at_once)
    philox_eight(stream, block(i), out + i);
  for (; i < count; ++i) out[i] = stream.bits(first + std::uint64_t(i));
}

const std::uint16_t* random_shorts(const RandomStream& stream, std::uint64_t first,
                                   std::int64_t count, std::uint32_t* room) {
  const std::uint64_t begin = first / 2, end = (first + std::uint64_t(count) + 1) / 2;
  random_bits(stream, begin, std::int64_t(end - begin), room);
  return reinterpret_cast<const std::uint16_t*>(room) + first % 2;
}

void dropout(const Dropout& dropout, const RandomStream& stream) {
  const auto drop = [&](std::int64_t at, std::int64_t length) {
    alignas(64) std::array<std::uint32_t, strip_length / 2 + 16> room;
    alignas(64) StripBuffer x_buffer, y_buffer;
    const float* x = load_strip(dropout.x, at, length, x_buffer.data());
    float* y = result_strip(dropout.y, at, y_buffer.data());
    auto* kept = reinterpret_cast<std::uint8_t*>(dropout.mask);
    const DroppedStrip strip{x, random_shorts(stream, std::uint64_t(at), length, room.data()),
                             dropout.keep * 0x1p16F, 1.0F / dropout.keep,
                             kept ? kept + at : nullptr};
    row_math().drop(strip, length, y);
    store_strip(dropout.y, at, length, y);
  };
  parallel_for(dropout.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += strip_length)
      drop(at, std::min(strip_length, end - at));
  });
}

}  // namespace narrowgauge::cpu
