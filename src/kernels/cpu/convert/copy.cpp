// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/convert/copy.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/threads/parallel.h"
#include "kernels/cpu/lanes/transpose_tile.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t unit_elements = 16384;
constexpr std::int64_t square = 64;  // of a transpose: both sides stay in L1

// The axes in the order of the target; neighbours that are contiguous in both are merged.
std::vector<CopyAxis> simplify(std::span<const CopyAxis> given) {
  std::vector<CopyAxis> axes(given.begin(), given.end());
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.size == 1; });
  std::stable_sort(axes.begin(), axes.end(), [](const CopyAxis& a, const CopyAxis& b) {
    return std::abs(a.target_stride) > std::abs(b.target_stride);
  });
  std::vector<CopyAxis> merged;
  for (const CopyAxis& axis : axes) {
    const bool together = !merged.empty() &&
                          merged.back().source_stride == axis.size * axis.source_stride &&
                          merged.back().target_stride == axis.size * axis.target_stride;
    if (together)
      merged.back() = {merged.back().size * axis.size, axis.source_stride, axis.target_stride};
    else
      merged.push_back(axis);
  }
  return merged;
}

struct Rectangle {
  std::int64_t rows, columns;
};

template <class Word>
void copy_rows(const Rectangle& size, const CopyAxis& row, const Word* source, Word* target) {
  for (std::int64_t r = 0; r < size.rows; ++r)
    std::memcpy(target + r * row.target_stride, source + r * row.source_stride,
                static_cast<std::size_t>(size.columns) * sizeof(Word));
}

template <class Word>
void copy_strided_run(const Rectangle& size, const CopyAxis& row, const CopyAxis& inner,
                      const Word* source, Word* target) {
  const std::int64_t from = inner.source_stride, to = inner.target_stride;
  for (std::int64_t r = 0; r < size.rows; ++r) {
    const Word* in = source + r * row.source_stride;
    Word* out = target + r * row.target_stride;
    if (from == 0 && to == 1) {
      std::fill_n(out, size.columns, *in);
      continue;
    }
#pragma GCC ivdep
    for (std::int64_t c = 0; c < size.columns; ++c) out[c * to] = in[c * from];
  }
}

// Where the bytes of 16 pixels of three colours come from: [vector][colour][byte]; 0x80: elsewhere.
constexpr auto colour_places = [] {
  std::array<std::array<std::array<std::uint8_t, 16>, 3>, 3> places{};
  for (std::size_t i = 0; i < 48; ++i)
    for (std::size_t colour = 0; colour < 3; ++colour)
      places[i / 16][colour][i % 16] = i % 3 == colour ? static_cast<std::uint8_t>(i / 3) : 0x80;
  return places;
}();

// Bytes of three colours that lie apart become pixels.
void weave_colours(std::int64_t pixels, std::int64_t source_stride, const std::uint8_t* source,
                   std::uint8_t* target) {
  const auto load = [](const std::uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  std::int64_t pixel = 0;
  for (; pixel + 16 <= pixels; pixel += 16)
    for (const auto& places : colour_places) {
      __m128i all = _mm_setzero_si128();
      for (std::size_t i = 0; i < 3; ++i) {
        const std::uint8_t* const colour = source + std::int64_t(i) * source_stride + pixel;
        all = _mm_or_si128(all, _mm_shuffle_epi8(load(colour), load(places[i].data())));
      }
      _mm_storeu_si128(reinterpret_cast<__m128i*>(target), all);
      target += 16;
    }
  for (; pixel < pixels; ++pixel)
    for (std::int64_t i = 0; i < 3; ++i) *target++ = source[i * source_stride + pixel];
}

template <class Word>
void transpose(const Rectangle& size, std::int64_t source_stride, std::int64_t target_stride,
               const Word* source, Word* target) {
  if constexpr (sizeof(Word) == 1)
    if (size.columns == 3 && target_stride == 3)
      return weave_colours(size.rows, source_stride, source, target);
  constexpr std::int64_t tile = TransposeTile<Word>::size;
  const std::int64_t rows = size.rows / tile * tile, columns = size.columns / tile * tile;
  for (std::int64_t c = 0; c < columns; c += tile)
    for (std::int64_t r = 0; r < rows; r += tile)
      TransposeTile<Word>::run(source + c * source_stride + r, source_stride,
                               target + r * target_stride + c, target_stride);
  for (std::int64_t r = 0; r < size.rows; ++r)
    for (std::int64_t c = r < rows ? columns : 0; c < size.columns; ++c)
      target[r * target_stride + c] = source[c * source_stride + r];
}

}  // namespace

StridedCopy::StridedCopy(std::span<const CopyAxis> given, std::int64_t element_bytes)
    : element_bytes_(element_bytes) {
  require(element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8,
          "copy: elements of 1, 2, 4 or 8 bytes are expected, got ", element_bytes);
  if (std::any_of(given.begin(), given.end(), [](const CopyAxis& a) { return a.size == 0; }))
    return;
  outer_ = simplify(given);
  const auto take = [&](std::size_t index) {
    const CopyAxis axis = outer_[index];
    outer_.erase(outer_.begin() + std::ptrdiff_t(index));
    return axis;
  };
  inner_ = outer_.empty() ? CopyAxis{1, 1, 1} : take(outer_.size() - 1);
  const auto along_source = std::find_if(
      outer_.begin(), outer_.end(), [](const CopyAxis& axis) { return axis.source_stride == 1; });
  if (inner_.source_stride == 1 && inner_.target_stride == 1) {
    kind_ = Kind::rows;
  } else if (inner_.target_stride == 1 && along_source != outer_.end()) {
    kind_ = Kind::transpose;
    row_ = take(std::size_t(along_source - outer_.begin()));
    inner_piece_ = std::min(inner_.size, square);
    row_piece_ = square / inner_piece_ * square;
  } else {
    kind_ = Kind::strided;
  }
  if (kind_ != Kind::transpose) {
    row_ = outer_.empty() ? CopyAxis{} : take(outer_.size() - 1);
    inner_piece_ = std::min(inner_.size, unit_elements);
    row_piece_ = std::clamp<std::int64_t>(unit_elements / inner_piece_, 1, row_.size);
  }
  units_ =
      (row_.size + row_piece_ - 1) / row_piece_ * ((inner_.size + inner_piece_ - 1) / inner_piece_);
  for (const CopyAxis& axis : outer_) units_ *= axis.size;
}

template <class Word>
void StridedCopy::run_unit(std::int64_t number, const Word* source, Word* target) const {
  const std::int64_t inner_pieces = (inner_.size + inner_piece_ - 1) / inner_piece_;
  const std::int64_t row_pieces = (row_.size + row_piece_ - 1) / row_piece_;
  const std::int64_t column = number % inner_pieces * inner_piece_;
  number /= inner_pieces;
  const std::int64_t row = number % row_pieces * row_piece_;
  number /= row_pieces;
  source += column * inner_.source_stride + row * row_.source_stride;
  target += column * inner_.target_stride + row * row_.target_stride;
  for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
    source += number % axis->size * axis->source_stride;
    target += number % axis->size * axis->target_stride;
    number /= axis->size;
  }
  const Rectangle size{std::min(row_piece_, row_.size - row),
                       std::min(inner_piece_, inner_.size - column)};
  if (kind_ == Kind::rows)
    copy_rows(size, row_, source, target);
  else if (kind_ == Kind::transpose)
    transpose(size, inner_.source_stride, row_.target_stride, source, target);
  else
    copy_strided_run(size, row_, inner_, source, target);
}

template <class Word>
void StridedCopy::run_all(const void* source, void* target) const {
  const std::int64_t elements =
      std::min(row_piece_, row_.size) * std::min(inner_piece_, inner_.size);
  const std::int64_t grain = std::max<std::int64_t>(1, unit_elements / elements);
  parallel_for(units_, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number)
      run_unit(number, static_cast<const Word*>(source), static_cast<Word*>(target));
  });
}

void StridedCopy::run(const void* source, void* target) const {
  if (kind_ == Kind::nothing) return;
  switch (element_bytes_) {
    case 1:
      return run_all<std::uint8_t>(source, target);
    case 2:
      return run_all<std::uint16_t>(source, target);
    case 4:
      return run_all<std::uint32_t>(source, target);
    default:
      return run_all<std::uint64_t>(source, target);
  }
}

}  // namespace narrowgauge::cpu
