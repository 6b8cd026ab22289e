// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/tile_packer.h"

#include "kernels/cpu/amx/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

constexpr std::int64_t plane_bytes = 2048, row_bytes = 64;

[[gnu::always_inline]] inline __m512 widened(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// x - hi, and 0 where hi is not finite.
[[gnu::always_inline]] inline __m512 remainder(__m512 x, __m256i high) {
  constexpr int infinite_or_nan = 0x99;
  const __m512 hi = widened(high);
  const __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(hi, infinite_or_nan));
  return _mm512_maskz_sub_ps(finite, x, hi);
}

struct Pair {
  __m512i high, low;
};

[[gnu::always_inline]] inline Pair split(__m512 first, __m512 second) {
  const __m512i high = to_bf16(first, second);
  return {high, to_bf16(remainder(first, _mm512_castsi512_si256(high)),
                        remainder(second, _mm512_extracti64x4_epi64(high, 1)))};
}

// Loads and splits up to 32 neighbours, with zeros outside `mask`.
[[gnu::always_inline]] inline Pair load_split(DType dtype, const std::byte* from, __mmask32 mask) {
  if (dtype == DType::f32)
    return split(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
                 _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + row_bytes));
  const __m512i values = _mm512_maskz_loadu_epi16(mask, from);
  return split(_mm512_cvtph_ps(_mm512_castsi512_si256(values)),
               _mm512_cvtph_ps(_mm512_extracti64x4_epi64(values, 1)));
}

// Packs one plane from rows of 32 neighbours, past the caches if they lie across the contraction.
void pack_plane(TileRole role, bool along_depth, const std::byte* rows, std::int64_t step,
                std::byte* packed, bool stream) {
  if (stream && !along_depth)
    return role == TileRole::b ? pack_b<true>(rows, step, packed)
                               : pack_a_transposed<true>(rows, step, packed);
  if (role == TileRole::b)
    return along_depth ? pack_b_transposed(rows, step, packed) : pack_b(rows, step, packed);
  if (!along_depth) return pack_a_transposed(rows, step, packed);
  for (std::int64_t r = 0; r < block_rows; ++r)
    _mm512_store_si512(packed + r * row_bytes, _mm512_loadu_si512(rows + r * step));
}

std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace

TilePacker::TilePacker(const TileSource& source, TileRole role, std::int64_t planes)
    : source_(source),
      role_(role),
      planes_(planes),
      element_(source.dtype == DType::f32 ? 4 : 2),
      along_depth_(source.along_depth()),
      contiguous_(source.along_depth() || source.outer_step == 1),
      row_step_((along_depth_ ? source.outer_step : source.depth_step) * element_) {}

const std::byte* TilePacker::at(const std::byte* from, std::int64_t outer,
                                std::int64_t step) const {
  return from + (outer * 32 * source_.outer_step + step * 32 * source_.depth_step) * element_;
}

void TilePacker::pack(const std::byte* from, std::int64_t outer, std::int64_t step,
                      std::byte* packed) {
  const std::int64_t outer_left = least(32, source_.outer - outer * 32);
  const std::int64_t depth_left = least(32, source_.depth - step * 32);
  from = at(from, outer, step);
  if (!contiguous_) {
    stage_scattered(from, outer_left, depth_left);
  } else if (outer_left < 32 || depth_left < 32) {
    stage_rows(from, along_depth_ ? outer_left : depth_left,
               along_depth_ ? depth_left : outer_left);
  } else if (planes_ == 1) {
    return pack_plane(role_, along_depth_, from, row_step_, packed, stream_);
  } else if (role_ == TileRole::a && along_depth_) {
    return split_rows(from, packed);
  } else {
    stage_rows(from, 32, 32);
  }
  pack_staged(packed);
}

void TilePacker::split_rows(const std::byte* at, std::byte* packed) const {
  for (std::int64_t row = 0; row < 32; ++row, at += row_step_, packed += row_bytes) {
    const Pair pair = load_split(source_.dtype, at, ~__mmask32{});
    _mm512_store_si512(packed, pair.high);
    _mm512_store_si512(packed + plane_bytes, pair.low);
  }
}

// Stages `rows` rows of `count` neighbours, with zeros around them.
void TilePacker::stage_rows(const std::byte* at, std::int64_t rows, std::int64_t count) {
  const std::uint32_t mask = count < 32 ? (std::uint32_t{1} << count) - 1 : ~0U;
  for (std::int64_t row = 0; row < 32; ++row)
    stage_row(row < rows ? at + row * row_step_ : at, row < rows ? mask : 0, row);
}

void TilePacker::stage_row(const std::byte* row, std::uint32_t mask, std::int64_t place) {
  if (planes_ == 1) {
    _mm512_store_si512(stage_.high[place], _mm512_maskz_loadu_epi16(mask, row));
    return;
  }
  const Pair pair = load_split(source_.dtype, row, mask);
  _mm512_store_si512(stage_.high[place], pair.high);
  _mm512_store_si512(stage_.low[place], pair.low);
}

// Stages rows along the outer axis, source element by element.
void TilePacker::stage_scattered(const std::byte* at, std::int64_t outer, std::int64_t depth) {
  const auto bytes = static_cast<std::size_t>(element_);
  for (std::int64_t d = 0; d < 32; ++d) {
    alignas(64) std::byte row[128]{};
    for (std::int64_t o = 0; d < depth && o < outer; ++o)
      __builtin_memcpy(row + o * element_,
                       at + (o * source_.outer_step + d * source_.depth_step) * element_, bytes);
    stage_row(row, ~0U, d);
  }
}

void TilePacker::pack_staged(std::byte* packed) const {
  const auto* high = reinterpret_cast<const std::byte*>(stage_.high);
  const auto* low = reinterpret_cast<const std::byte*>(stage_.low);
  pack_plane(role_, along_depth_, high, row_bytes, packed, false);
  if (planes_ == 2) pack_plane(role_, along_depth_, low, row_bytes, packed + plane_bytes, false);
}

namespace {

// Packs a range in the order of memory.
void pack_range(TilePacker& packer, const std::byte* from, const TileRange& range,
                std::byte* packed, std::int64_t pitch) {
  const auto one = [&](std::int64_t outer, std::int64_t step) {
    const std::int64_t place = (outer - range.outer_begin) * pitch + step - range.step_begin;
    packer.pack(from, outer, step, packed + place * packer.planes() * plane_bytes);
  };
  if (packer.along_depth()) {
    for (std::int64_t outer = range.outer_begin; outer < range.outer_end; ++outer)
      for (std::int64_t step = range.step_begin; step < range.step_end; ++step) one(outer, step);
  } else {
    for (std::int64_t step = range.step_begin; step < range.step_end; ++step)
      for (std::int64_t outer = range.outer_begin; outer < range.outer_end; ++outer)
        one(outer, step);
  }
}

}  // namespace

void TileFeed::begin(const std::byte* from, const TileRange& range, std::byte* packed) {
  from_ = from;
  range_ = range;
  packed_ = packed;
  const std::int64_t outers = range.outer_end - range.outer_begin,
                     depths = range.step_end - range.step_begin;
  const std::int64_t row_bytes = 32 * packer_.element() * (packer_.along_depth() ? depths : outers);
  ahead_.line = packer_.at(from, range.outer_begin, range.step_begin);
  ahead_.row_end = ahead_.line + row_bytes;
  ahead_.row_step = packer_.row_step();
  ahead_.gap = ahead_.row_step - row_bytes;
  lines_ = 32 * (packer_.along_depth() ? outers : depths) * (row_bytes / 64);
}

void TileFeed::pack() { pack_range(packer_, from_, range_, packed_, range_.steps()); }

void pack_tiles(const TileSource& source, TileRole role, std::int64_t planes, const std::byte* from,
                const TileRange& range, std::byte* packed, std::int64_t pitch) {
  TilePacker packer(source, role, planes);
  packer.stream_past_caches();
  pack_range(packer, from, range, packed, pitch);
  _mm_sfence();
}

}  // namespace narrowgauge::cpu::amx
