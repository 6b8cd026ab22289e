// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/split.h"

#include <type_traits>

#include "kernels/cpu/batch_inner/split_tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

// Chooses f32 or f16, which can be split.
template <class Body>
void with_dtype(DType dtype, const Body& body) {
  if (dtype == DType::f16)
    body.template operator()<DType::f16>();
  else
    body.template operator()<DType::f32>();
}

template <DType dtype>
constexpr std::int64_t row_bytes = dtype == DType::f16 ? 64 : 128;

// Prefetches the two blocks further on; the hardware does not prefetch across pages.
template <DType dtype>
[[gnu::always_inline]] inline void prefetch(const std::byte* row) {
  constexpr std::int64_t ahead = 2 * block_rows * row_bytes<dtype>;
  _mm_prefetch(reinterpret_cast<const char*>(row + ahead), _MM_HINT_T0);
  if constexpr (dtype == DType::f32)
    _mm_prefetch(reinterpret_cast<const char*>(row + ahead + 64), _MM_HINT_T0);
}

enum class Order { memory, crossed };

template <DType dtype, Order order>
[[gnu::always_inline]] inline void split_rows(const std::byte* from, std::int64_t rows,
                                              std::byte* high, std::byte* low) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::byte* row = from + r * row_bytes<dtype>;
    prefetch<dtype>(row);
    const WideRow wide = load_wide<dtype>(row);
    const SplitRow parts =
        order == Order::crossed ? split_row_crossed<dtype>(wide) : split_row<dtype>(wide);
    _mm512_storeu_si512(high + r * 64, parts.high);
    _mm512_storeu_si512(low + r * 64, parts.low);
  }
}

// Packs a block of B whose contraction goes along the images: rows 2i and 2i + 1 become its row i.
template <DType dtype>
[[gnu::always_inline]] inline void pack_block_b(const std::byte* from, std::byte* to) {
  for (std::int64_t i = 0; i < 16; ++i, to += 64) {
    const std::byte* row = from + 2 * i * row_bytes<dtype>;
    prefetch<dtype>(row);
    prefetch<dtype>(row + row_bytes<dtype>);
    const WideRow even = load_wide<dtype>(row), odd = load_wide<dtype>(row + row_bytes<dtype>);
    const auto put = [to](__m512 first, __m512 second, std::int64_t tile) {
      const SplitLanes a = split_lanes<dtype>(first), b = split_lanes<dtype>(second);
      _mm512_store_si512(to + tile, join_upper(a.high, b.high));
      _mm512_store_si512(to + block_bytes + tile, join_upper(a.low, b.low));
    };
    put(even.low, odd.low, 0);
    put(even.high, odd.high, 1024);
  }
}

// Packs rows as blocks of A, or of B.
template <DType dtype>
void pack_block(const std::byte* from, bool transposed, std::byte* to) {
  pack_block_b<dtype>(from, to);
  if (!transposed) return;
  for (std::int64_t tile = 0; tile < split_block_bytes; tile += 1024) transpose_tile(to + tile);
}

// Packs 32 x 32 weights of one tap, whose rows are `step` elements apart. The contraction is
// crossed: it goes along the rows of M, or along C.
template <DType dtype>
void pack_weight_block(const std::byte* weights, std::int64_t step, const WeightBlocks& blocks,
                       std::byte* packed) {
  using Element = std::conditional_t<dtype == DType::f16, std::uint16_t, float>;
  alignas(64) Element values[block_rows][block_rows];
  for (std::int64_t m = 0; m < block_rows; ++m) {
    const auto* from = reinterpret_cast<const Element*>(weights) + m * step;
    Element* const to = values[blocks.backward ? m % 16 * 2 + m / 16 : m];
    for (std::int64_t c = 0; c < block_rows; ++c) to[c] = from[c * blocks.taps];
  }
  const auto* source = reinterpret_cast<const std::byte*>(values);
  if (blocks.backward) return pack_block_b<dtype>(source, packed);
  alignas(64) std::byte parts[split_block_bytes];
  split_rows<dtype, Order::crossed>(source, block_rows, parts, parts + block_bytes);
  for (std::int64_t part = 0; part < split_block_bytes; part += block_bytes)
    pack_b_transposed(parts + part, 64, packed + part);
}

}  // namespace

void split_blocks(const BatchInnerImages& images, const std::byte* blocks, std::int64_t count,
                  std::byte* split) {
  with_dtype(images.dtype, [&]<DType from>() {
    for (std::int64_t i = 0; i < count; ++i, split += split_block_bytes)
      split_rows<from, Order::crossed>(blocks + i * block_rows * row_bytes<from>, block_rows, split,
                                       split + block_bytes);
  });
}

void split_values(DType dtype, const std::byte* values, std::int64_t count, std::byte* high,
                  std::byte* low) {
  with_dtype(dtype, [&]<DType from>() {
    split_rows<from, Order::memory>(values, count / block_rows, high, low);
  });
}

void pack_split_row(DType dtype, const std::byte* row, const RowPacking& packing, std::int64_t slot,
                    const PackedRows& packed) {
  with_dtype(dtype, [&]<DType from>() {
    constexpr std::int64_t bytes = block_rows * row_bytes<from>;
    for (std::int64_t x = 0; x < packing.width; ++x) {
      const std::byte* block_row = row + x * packing.column_step * packing.blocks * bytes;
      for (std::int64_t block = 0; block < packing.blocks; ++block)
        pack_block<from>(block_row + block * bytes, packing.transposed,
                         packed.blocks + ((block * packed.slots + slot) * packing.pitch + x) *
                                             split_block_bytes);
    }
  });
}

void pack_split_weights(const BatchInnerImages& images, const std::byte* weights,
                        const WeightBlocks& blocks, std::int64_t begin, std::int64_t end,
                        std::byte* packed) {
  const std::int64_t m_blocks = blocks.outputs / block_rows, c_blocks = blocks.inputs / block_rows;
  const std::int64_t inner_blocks = blocks.backward ? m_blocks : c_blocks;
  const std::int64_t element = bytes_for(1, images.dtype), step = blocks.inputs * blocks.taps;
  for (std::int64_t outer = begin; outer < end; ++outer)
    for (std::int64_t inner = 0; inner < inner_blocks; ++inner) {
      const std::int64_t m = blocks.backward ? inner : outer, c = blocks.backward ? outer : inner;
      const std::int64_t first = m * block_rows * step + c * block_rows * blocks.taps;
      for (std::int64_t tap = 0; tap < blocks.taps; ++tap) {
        std::byte* const to =
            packed +
            ((outer * blocks.taps + blocks.order[tap]) * inner_blocks + inner) * split_block_bytes;
        with_dtype(images.dtype, [&]<DType from>() {
          pack_weight_block<from>(weights + (first + tap) * element, step, blocks, to);
        });
      }
    }
}

}  // namespace narrowgauge::cpu::amx
