// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pairs/dfp16_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cpu/amx/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

constexpr __mmask16 all = 0xffff;
constexpr float most_crests = 36 * 36;  // of which l l' is left out: an error of 1.8e-4

[[gnu::always_inline]] inline __m512 load(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}
[[gnu::always_inline]] inline __m512 load(const std::uint16_t* from, __mmask16 mask) {
  return _mm512_maskz_cvtph_ps(all, _mm256_maskz_loadu_epi16(mask, from));
}

__mmask16 first(std::int64_t count) {
  if (count >= 16) return all;
  return static_cast<__mmask16>(count <= 0 ? 0 : (1U << count) - 1);
}

[[gnu::always_inline]] inline __m512i magnitude(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

// The largest lane, in all lanes.
[[gnu::always_inline]] inline __m512i largest_lane(__m512i x) {
  __m256i half = _mm256_max_epu32(_mm512_maskz_extracti32x8_epi32(0xff, x, 0),
                                  _mm512_maskz_extracti32x8_epi32(0xff, x, 1));
  half = _mm256_max_epu32(half, _mm256_permute2x128_si256(half, half, 1));
  half = _mm256_max_epu32(half, _mm256_shuffle_epi32(half, 0x4e));
  half = _mm256_max_epu32(half, _mm256_shuffle_epi32(half, 0xb1));
  return _mm512_maskz_broadcastd_epi32(all, _mm256_castsi256_si128(half));
}

[[gnu::always_inline]] inline float sum_of_lanes(__m512 x) {
  const __m256 half = _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, x, 0),
                                    _mm512_maskz_extractf32x8_ps(0xff, x, 1));
  const __m128 fours = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
  return _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)));
}

struct Scales {
  __m512 forth, back;
};

// Scales as in dfp16_scales_avx512.h: times 2^-15 in rows and 2^15 in columns; at most 2^110.
[[gnu::always_inline]] inline Scales scales_for(__m512i largest, bool rows) {
  const __m512 s = _mm512_maskz_min_ps(
      all, _mm512_div_ps(_mm512_set1_ps(32639.0F), _mm512_castsi512_ps(largest)),
      _mm512_set1_ps(0x1p110F));
  const __mmask16 some = _mm512_test_epi32_mask(largest, largest);
  const __mmask16 finite = _mm512_cmplt_epu32_mask(largest, _mm512_set1_epi32(0x7f800000));
  const __m512 back = _mm512_maskz_div_ps(some, _mm512_set1_ps(rows ? 0x1p-15F : 0x1p15F), s);
  return {_mm512_maskz_mov_ps(some & finite, s),
          _mm512_mask_mov_ps(_mm512_set1_ps(__builtin_nanf("")), finite, back)};
}

[[gnu::always_inline]] inline __m512i quantised(__m512 x, __m512 scale) {
  return _mm512_maskz_cvtps_epi32(all, _mm512_mul_ps(x, scale));
}

[[gnu::always_inline]] inline __m512i high_bytes(__m512i q) {
  return _mm512_srai_epi16(_mm512_add_epi16(q, _mm512_set1_epi16(128)), 8);
}

// Stores 64 int16 as bytes: the upper ones, then the lower ones.
[[gnu::always_inline]] inline void store_bytes(__m512i a, __m512i b, std::byte* high) {
  const auto store = [](__m512i words, std::byte * to) __attribute__((always_inline)) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_maskz_cvtepi16_epi8(~__mmask32{0}, words));
  };
  store(high_bytes(a), high);
  store(high_bytes(b), high + 32);
  store(a, high + 2048);
  store(b, high + 2080);
}

// (max|x| / rms)^2, from the squares of values scaled to 32639.
[[gnu::always_inline]] inline __m512 crest_of(__m512 squares, std::int64_t depth) {
  const __m512 most = _mm512_set1_ps(32639.0F * 32639.0F * static_cast<float>(depth));
  return _mm512_maskz_div_ps(_mm512_cmp_ps_mask(squares, _mm512_setzero_ps(), _CMP_GT_OQ), most,
                             squares);
}

struct RowBlock {
  float scale, squares;
};

// Packs a row's block into rows of tiles, one step apart.
template <class T>
RowBlock pack_row(const T* x, std::int64_t depth, bool rows, std::byte* q) {
  __m512 values[pair_block / 16];
  __m512i largest = _mm512_setzero_si512();
  const std::int64_t vectors = (depth + dfp16_step - 1) / dfp16_step * 4;
  for (std::int64_t v = 0; v < vectors; ++v) {
    const __mmask16 mask = first(depth - 16 * v);
    values[v] = load(x + (mask ? 16 * v : 0), mask);
    largest = _mm512_maskz_max_epu32(all, largest, magnitude(values[v]));
  }
  const Scales scales = scales_for(largest_lane(largest), rows);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  __m512 squares = _mm512_setzero_ps();
  const auto words = [&](const __m512* from) __attribute__((always_inline)) {
    for (int i = 0; i < 2; ++i) {
      const __m512 scaled = _mm512_mul_ps(from[i], scales.forth);
      squares = _mm512_fmadd_ps(scaled, scaled, squares);
    }
    return _mm512_maskz_permutexvar_epi64(
        0xff, order,
        _mm512_packs_epi32(quantised(from[0], scales.forth), quantised(from[1], scales.forth)));
  };
  for (std::int64_t v = 0; v < vectors; v += 4)
    store_bytes(words(values + v), words(values + v + 2), q + v / 4 * dfp16_step_bytes);
  return {_mm512_cvtss_f32(scales.back), sum_of_lanes(squares)};
}

template <class T>
void pack_rows(const T* x, std::int64_t stride, const Dfp16Shape& shape, std::byte* q,
               float* scales) {
  const std::int64_t steps = (shape.depth + dfp16_step - 1) / dfp16_step;
  float least = 0;
  for (std::int64_t r = 0; r < dfp16_square; ++r) {
    scales[r] = 0;
    if (r < shape.count) {
      const RowBlock block = pack_row(x + r * stride, shape.depth, shape.rows, q + r * 64);
      scales[r] = block.scale;
      if (block.squares > 0 && (least == 0 || block.squares < least)) least = block.squares;
      continue;
    }
    for (std::int64_t s = 0; s < steps; ++s)
      for (const std::int64_t plane : {0, 2048})
        std::memset(q + s * dfp16_step_bytes + plane + r * 64, 0, 64);
  }
  scales[dfp16_square] = _mm512_cvtss_f32(crest_of(_mm512_set1_ps(least), shape.depth));
}

[[gnu::always_inline]] inline __m512i as_pairs(__m512i even, __m512i odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_maskz_slli_epi32(all, odd, 16));
}

// The lower bytes of each lane's four words.
[[gnu::always_inline]] inline __m512i lower_bytes(__m512i first, __m512i second) {
  const __m512i low = _mm512_and_si512(first, _mm512_set1_epi32(0x00ff00ff));
  const __m512i high = _mm512_and_si512(second, _mm512_set1_epi32(0x00ff00ff));
  const __m512i together = _mm512_set1_epi32(0x0000ffff);
  const __m512i a =
      _mm512_and_si512(_mm512_or_si512(low, _mm512_maskz_srli_epi32(all, low, 8)), together);
  const __m512i b =
      _mm512_and_si512(_mm512_or_si512(high, _mm512_maskz_srli_epi32(all, high, 8)), together);
  return _mm512_or_si512(a, _mm512_maskz_slli_epi32(all, b, 16));
}

// Packs 16 columns into tiles of columns. Returns the largest crest^2.
template <class T>
float pack_lanes(const T* x, std::int64_t stride, const Dfp16Shape& shape, __mmask16 mask,
                 std::byte* q, float* scales) {
  __m512i largest = _mm512_setzero_si512();
  for (std::int64_t k = 0; k < shape.depth; ++k)
    largest = _mm512_maskz_max_epu32(all, largest, magnitude(load(x + k * stride, mask)));
  const Scales made = scales_for(largest, shape.rows);
  _mm512_storeu_ps(scales, made.back);
  __m512 squares = _mm512_setzero_ps();
  const auto value = [&](std::int64_t k) __attribute__((always_inline)) {
    if (k >= shape.depth) return _mm512_setzero_si512();
    const __m512 scaled = _mm512_mul_ps(load(x + k * stride, mask), made.forth);
    squares = _mm512_fmadd_ps(scaled, scaled, squares);
    return _mm512_maskz_cvtps_epi32(all, scaled);
  };
  const std::int64_t padded = (shape.depth + dfp16_step - 1) / dfp16_step * dfp16_step;
  for (std::int64_t k = 0; k < padded; k += 4) {
    std::byte* const to = q + k / dfp16_step * dfp16_step_bytes + k % dfp16_step / 4 * 64;
    const __m512i a = as_pairs(value(k), value(k + 1)), b = as_pairs(value(k + 2), value(k + 3));
    _mm512_storeu_si512(to, lower_bytes(high_bytes(a), high_bytes(b)));
    _mm512_storeu_si512(to + 2048, lower_bytes(a, b));
  }
  return _mm512_cvtss_f32(
      _mm512_castsi512_ps(largest_lane(_mm512_castps_si512(crest_of(squares, shape.depth)))));
}

// Turns tiles of rows into tiles of columns, and back.
void transpose_tiles(std::byte* q, std::int64_t tiles) {
  for (std::int64_t t = 0; t < tiles; ++t, q += 1024) {
    __m512i r[16];
    for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_si512(q + 64 * i);
    transpose(r);
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(q + 64 * i, r[i]);
  }
}

template <class T>
void pack(const PairSource& source, const Dfp16Shape& shape, std::byte* q, float* scales) {
  const T* const x = static_cast<const T*>(source.data);
  if (shape.dense_sums) {
    pack_rows(x, source.stride, shape, q, scales);
  } else {
    float crest[2];
    for (std::int64_t v = 0; v < 2; ++v) {
      const __mmask16 mask = first(shape.count - 16 * v);
      crest[v] = pack_lanes(x + (mask ? 16 * v : 0), source.stride, shape, mask, q + 1024 * v,
                            scales + 16 * v);
    }
    scales[dfp16_square] = std::max(crest[0], crest[1]);
  }
  if (shape.dense_sums != shape.rows)
    transpose_tiles(q, (shape.depth + dfp16_step - 1) / dfp16_step * 4);
}

constexpr std::int64_t result_bytes(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

// The work left on a square whose products are in memory: done row by row between the products of
// the next square.
struct Pending {
  alignas(64) std::int32_t high[1024], cross[1024], low[1024];
  bool has_low = false;
  float* sums = nullptr;
  const float* a_scales = nullptr;
  std::byte* y = nullptr;
  std::int64_t rows = 0;
  int row = static_cast<int>(dfp16_square);  // done before
};

class Finisher {
 public:
  explicit Finisher(const Dfp16Strip& strip)
      : strip_(strip),
        columns_{_mm512_loadu_ps(strip.b_scales), _mm512_loadu_ps(strip.b_scales + 16)},
        mask_{first(strip.columns), first(strip.columns - 16)} {}

  [[gnu::always_inline]] void step(Pending& pending, int rows) {
    for (; rows > 0 && pending.row < dfp16_square; --rows, ++pending.row) finish(pending);
  }
  std::int64_t flushed() const { return flushed_; }

 private:
  [[gnu::always_inline]] void finish(const Pending& pending) {
    const int row = pending.row;
    const __m512 scale = _mm512_set1_ps(pending.a_scales[row]);
    for (int v = 0; v < 2; ++v) {
      const int at = row * 32 + 16 * v;
      const __m512 high = _mm512_maskz_cvtepi32_ps(all, _mm512_load_si512(pending.high + at));
      const __m512 cross = _mm512_maskz_cvtepi32_ps(all, _mm512_load_si512(pending.cross + at));
      __m512 low = _mm512_setzero_ps();
      if (pending.has_low) low = _mm512_maskz_cvtepi32_ps(all, _mm512_load_si512(pending.low + at));
      const __m512 whole = _mm512_fmadd_ps(high, _mm512_set1_ps(65536.0F),
                                           _mm512_fmadd_ps(cross, _mm512_set1_ps(256.0F), low));
      const __m512 sum = _mm512_fmadd_ps(_mm512_mul_ps(whole, scale), columns_[v],
                                         _mm512_loadu_ps(pending.sums + at));
      if (!pending.y)
        _mm512_storeu_ps(pending.sums + at, sum);
      else if (row < pending.rows)
        store(sum, v, pending.y + row * strip_.pitch * result_bytes(strip_.dtype));
    }
  }

  [[gnu::always_inline]] void store(__m512 sum, int v, std::byte* y) {
    if (strip_.dtype == DType::f32) {
      _mm512_mask_storeu_ps(y + 64 * v, mask_[v], sum);
      return;
    }
    if (strip_.dtype == DType::bf16) {
      _mm256_mask_storeu_epi16(y + 32 * v, mask_[v],
                               reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum)));
      return;
    }
    const __m256i narrow = _mm512_maskz_cvtps_ph(all, sum, _MM_FROUND_TO_NEAREST_INT);
    const __mmask16 nonzero = _mm512_mask_test_epi32_mask(mask_[v], _mm512_castps_si512(sum),
                                                          _mm512_set1_epi32(0x7fffffff));
    flushed_ += std::popcount(static_cast<unsigned>(
        _mm256_mask_testn_epi16_mask(nonzero, narrow, _mm256_set1_epi16(0x7fff))));
    _mm256_mask_storeu_epi16(y + 32 * v, mask_[v], narrow);
  }

  const Dfp16Strip& strip_;
  __m512 columns_[2];
  __mmask16 mask_[2];
  std::int64_t flushed_ = 0;
};

[[gnu::always_inline]] inline void multiply(const std::byte* a, const std::byte* b) {
  _tile_stream_loadd(4, a, 64);
  _tile_loadd(6, b, 64);
  _tile_dpbssd(0, 4, 6);
  _tile_loadd(7, b + 1024, 64);
  _tile_dpbssd(1, 4, 7);
  _tile_stream_loadd(5, a + 1024, 64);
  _tile_dpbssd(2, 5, 6);
  _tile_dpbssd(3, 5, 7);
}

}  // namespace

void dfp16_pack(const PairSource& source, const Dfp16Shape& shape, std::byte* q, float* scales) {
  if (source.dtype == DType::f16)
    pack<std::uint16_t>(source, shape, q, scales);
  else
    pack<float>(source, shape, q, scales);
}

std::int64_t dfp16_multiply(const Dfp16Strip& strip) {
  const TileScope tiles;
  Pending pending[2];
  Finisher finisher(strip);
  const std::int64_t element = result_bytes(strip.dtype);
  before_tile_loads();
  for (std::int64_t i = 0; i < strip.squares; ++i) {
    Pending& before = pending[(i + 1) % 2];
    Pending& now = pending[i % 2];
    const std::byte* const a = strip.a + i * strip.a_step;
    zero_sums();
    for (std::int64_t s = 0; s < strip.steps; ++s) {
      finisher.step(before, 3);
      multiply(a + s * dfp16_step_bytes, strip.b + s * dfp16_step_bytes);
    }
    store_sums(now.high);
    zero_sums();
    for (std::int64_t s = 0; s < strip.steps; ++s) {
      const std::byte* const to = a + s * dfp16_step_bytes;
      const std::byte* const from = strip.b + s * dfp16_step_bytes;
      finisher.step(before, 3);
      multiply(to, from + 2048);
      finisher.step(before, 3);
      multiply(to + 2048, from);
    }
    store_sums(now.cross);
    now.has_low =
        strip.a_scales[i * strip.a_scales_step + dfp16_square] * strip.b_scales[dfp16_square] >
        most_crests;
    if (now.has_low) {
      zero_sums();
      for (std::int64_t s = 0; s < strip.steps; ++s)
        multiply(a + s * dfp16_step_bytes + 2048, strip.b + s * dfp16_step_bytes + 2048);
      store_sums(now.low);
    }
    finisher.step(before, static_cast<int>(dfp16_square));
    now.sums = strip.sums + i * strip.sums_step;
    now.a_scales = strip.a_scales + i * strip.a_scales_step;
    now.y = strip.y ? static_cast<std::byte*>(strip.y) + i * dfp16_square * strip.pitch * element
                    : nullptr;
    now.rows = strip.rows - i * dfp16_square;
    now.row = 0;
  }
  finisher.step(pending[(strip.squares + 1) % 2], static_cast<int>(dfp16_square));
  return finisher.flushed();
}

}  // namespace narrowgauge::cpu::amx
