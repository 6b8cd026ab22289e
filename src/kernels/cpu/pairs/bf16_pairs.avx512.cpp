// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "kernels/cpu/pairs/pair_lanes_avx512.h"

namespace narrowgauge::cpu::avx512 {
namespace {

using Bits = std::uint16_t;

constexpr __mmask32 first_values(std::int64_t count) {
  return count >= 32 ? 0xffffffff : (1U << count) - 1;
}

// Indices of a vector's pairs in 32 even and 32 odd values: those of [first, first + 16).
using Places = std::array<std::uint16_t, 32>;
constexpr Places places_from(std::int64_t first) {
  Places places{};
  for (std::size_t i = 0; i < 32; ++i) {
    const std::int64_t value = std::min<std::int64_t>(first + static_cast<std::int64_t>(i) / 2, 31);
    places[i] = static_cast<std::uint16_t>(value + (i % 2 == 0 ? 0 : 32));
  }
  return places;
}
alignas(64) constexpr Places first_places = places_from(0), behind_panel = places_from(pair_panel),
                             behind_lanes = places_from(16);

// Two vectors in which each lane holds one column of values; the second begins `width` elements
// after the first: 16, or a panel.
struct Columns {
  __m512i low, high;
  __mmask32 mask;

  Columns(std::int64_t width, std::int64_t count)
      : low(_mm512_load_si512(first_places.data())),
        high(_mm512_load_si512((width == pair_panel ? behind_panel : behind_lanes).data())),
        mask(first_values(std::min(count, 2 * width))) {}

  [[gnu::always_inline]] __m512i load(const Bits* from) const {
    return _mm512_maskz_loadu_epi16(mask, from);
  }
};

struct Target {
  std::byte* q[2];  // null: no second vector
  std::int64_t pair_bytes;
};

[[gnu::always_inline]] inline void store_pair(const Columns& columns, __m512i even, __m512i odd,
                                              Target& to) {
  _mm512_storeu_si512(to.q[0], _mm512_permutex2var_epi16(even, columns.low, odd));
  to.q[0] += to.pair_bytes;
  if (!to.q[1]) return;
  _mm512_storeu_si512(to.q[1], _mm512_permutex2var_epi16(even, columns.high, odd));
  to.q[1] += to.pair_bytes;
}

// Packs `pairs` pairs that are `stride` elements apart.
void pack(const Columns& columns, const Bits* even, const Bits* odd, std::int64_t stride,
          std::int64_t pairs, Target to) {
  for (; pairs > 0; --pairs, even += stride, odd += stride)
    store_pair(columns, columns.load(even), columns.load(odd), to);
}
// Packs like pack(), with zeros for the odd values.
void pack_half(const Columns& columns, const Bits* even, std::int64_t stride, std::int64_t pairs,
               Target to) {
  for (; pairs > 0; --pairs, even += stride)
    store_pair(columns, columns.load(even), _mm512_setzero_si512(), to);
}

// Packs `depth` values that are `stride` apart.
void pack_depth(const Columns& columns, const Bits* x, std::int64_t stride, std::int64_t depth,
                Target to) {
  const std::int64_t pairs = depth / 2;
  pack(columns, x, x + stride, 2 * stride, pairs, to);
  if (depth % 2 == 0) return;
  for (std::byte*& q : to.q)
    if (q) q += pairs * to.pair_bytes;
  pack_half(columns, x + (depth - 1) * stride, 0, 1, to);
}

void rows(const PairSource& source, std::int64_t count, std::int64_t depth, const RowPairs& to) {
  const auto* from = static_cast<const Bits*>(source.data);
  for (std::int64_t r = 0; r < count; ++r, from += source.stride) {
    std::byte* q = to.q + r * to.row_bytes;
    std::int64_t k = 0;
    for (; k + 32 <= depth; k += 32, q += 64) _mm512_storeu_si512(q, _mm512_loadu_si512(from + k));
    if (k < depth)
      _mm512_storeu_si512(q, _mm512_maskz_loadu_epi16(first_values(depth - k), from + k));
  }
}

void rows_as_columns(const PairSource& source, std::int64_t columns, std::int64_t depth,
                     const ColumnPairs& to, std::byte* scratch) {
  rows(source, columns, depth, {scratch, packed_row_bytes(depth), nullptr});
  rows_to_columns(scratch, columns, depth, to);
}

void columns_block(const PairSource& source, std::int64_t columns, std::int64_t depth,
                   const ColumnPairs& to) {
  pack_depth({16, columns}, static_cast<const Bits*>(source.data), source.stride, depth,
             {{to.q, to.wide ? to.q + 64 : nullptr}, to.wide ? 128 : 64});
}

void panels_block(const PairSource& source, std::int64_t count, std::int64_t depth,
                  const PanelPairs& to) {
  const bool two = count > pair_panel;
  pack_depth({pair_panel, count}, static_cast<const Bits*>(source.data), source.stride, depth,
             {{to.q, two ? to.q + to.panel_bytes : nullptr}, 64});
}

void row(const PairRow& from, const PairScales&, const PairRowTarget& to) {
  const Columns columns(from.width, from.channels);
  const Target target{{to.q[0], to.q[1]}, to.pair_bytes};
  const auto* const even = static_cast<const Bits*>(from.first);
  if (from.second)
    pack(columns, even, static_cast<const Bits*>(from.second), from.stride, from.pixels, target);
  else
    pack_half(columns, even, from.stride, from.pixels, target);
}

}  // namespace

const PairUnit bf16_unit{.implementation = "pairs, avx512_bf16",
                         .facts = {.isa = Isa::bf16},
                         .has_scales = false,
                         .kernel = bf16_kernel,
                         .store = bf16_store,
                         .rows = rows,
                         .rows_as_columns = rows_as_columns,
                         .columns_block = columns_block,
                         .panels_block = panels_block,
                         .row = row};

}  // namespace narrowgauge::cpu::avx512
