// SPDX-License-Identifier: Apache-2.0
// Turns a block of sums into a block of the result, a row of 32 channels at a time: the epilogues
// of batch_inner.h. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/row_formats.amx.h"
#include "kernels/cpu/amx/tiles.amx.h"
#include "kernels/cpu/core/batch_inner.h"

namespace narrowgauge::cpu::amx {

// Where a block of the result lies, and whether it is the first of its channels in the piece.
struct BlockPlace {
  std::int64_t offset = 0;  // in bytes
  std::int64_t channel = 0;
  bool first = false;
};

// The block to finish, and the next one, whose operands are prefetched meanwhile.
struct BlockToFinish {
  const float* sums;
  BlockPlace block, next;
};

template <class Format>
[[gnu::always_inline]] inline void add_vector(float* sums, const Pair& more, bool first) {
  Format::store_vector(sums, first ? more : Format::load_vector(sums) + more);
}

// Counts the values that become zero in f16.
class PieceFlushed {
 public:
  explicit PieceFlushed(const TilePiece& piece) : target_(piece.flushed) {}
  operator std::int64_t&() { return count_; }  // NOLINT: where it is counted
  void end() const {
    if (target_) *target_ += count_;
  }

 private:
  std::int64_t* target_;
  std::int64_t count_ = 0;
};

template <class Format_, bool stream, bool relu>
class PlainRow {
 public:
  using Format = Format_;
  PlainRow(const TilePiece& piece, const BlockToFinish& work)
      : sums_(work.sums), target_(piece.result + work.block.offset), flushed_(piece) {
    low_ = _mm512_loadu_ps(piece.bias + work.block.channel);
    high_ = _mm512_loadu_ps(piece.bias + work.block.channel + 16);
  }
  [[gnu::always_inline]] void one(std::int64_t row) {
    const float* from = sums_ + row * block_rows;
    __m512 low = _mm512_add_ps(_mm512_load_ps(from), low_);
    __m512 high = _mm512_add_ps(_mm512_load_ps(from + 16), high_);
    if constexpr (relu) {  // a NaN, the second operand, stays one
      low = _mm512_max_ps(_mm512_setzero_ps(), low);
      high = _mm512_max_ps(_mm512_setzero_ps(), high);
    }
    Format::template put<stream>(target_ + row * Format::row_bytes,
                                 Format::narrow(low, high, flushed_));
  }
  void end() const { flushed_.end(); }

 private:
  const float* sums_;
  std::byte* target_;
  PieceFlushed flushed_;
  __m512 low_, high_;
};

template <class Format_, bool stream>
class MomentsRow {
 public:
  using Format = Format_;
  MomentsRow(const TilePiece& piece, const BlockToFinish& work)
      : sums_(work.sums),
        target_(piece.result + work.block.offset),
        moments_(piece.epilogue.moments),
        channel_(work.block.channel),
        first_(work.block.first),
        flushed_(piece) {
    low_ = _mm512_loadu_ps(piece.bias + channel_);
    high_ = _mm512_loadu_ps(piece.bias + channel_ + 16);
    std::int64_t counted_later = 0;
    shift_ = first_ ? finite(Format::widen(rounded(0, counted_later)))
                    : Format::load_vector(moments_.shift + channel_);
  }
  [[gnu::always_inline]] void one(std::int64_t row) {
    const typename Format::Stored narrow = rounded(row, flushed_);
    Format::template put<stream>(target_ + row * Format::row_bytes, narrow);
    const Pair deviation = Format::widen(narrow) - shift_;
    sum_ = sum_ + deviation;
    squares_ = fma(deviation, deviation, squares_);
  }
  void end() const {
    if (first_) Format::store_vector(moments_.shift + channel_, shift_);
    add_vector<Format>(moments_.sum + channel_, sum_, first_);
    add_vector<Format>(moments_.squares + channel_, squares_, first_);
    flushed_.end();
  }

 private:
  [[gnu::always_inline]] typename Format::Stored rounded(std::int64_t row,
                                                         std::int64_t& flushed) const {
    const float* from = sums_ + row * block_rows;
    return Format::narrow(_mm512_add_ps(_mm512_load_ps(from), low_),
                          _mm512_add_ps(_mm512_load_ps(from + 16), high_), flushed);
  }

  const float* sums_;
  std::byte* target_;
  PieceMoments moments_;
  std::int64_t channel_;
  bool first_;
  PieceFlushed flushed_;
  __m512 low_, high_;
  Pair shift_, sum_ = zeros(), squares_ = zeros();
};

// `products` of -1: sums nothing at all.
template <class Format_, bool stream, int products>
class SlopesRow {
 public:
  using Format = Format_;
  SlopesRow(const TilePiece& piece, const BlockToFinish& work)
      : slopes_(piece.epilogue.slopes),
        sums_(work.sums),
        target_(piece.result),
        place_(work.block),
        next_(work.next.offset),
        flushed_(piece) {
    for (int p = 0; p < products; ++p)
      mean_[p] = Format::load_vector(slopes_.products[p].mean + place_.channel);
    if (products <= 0 || !slopes_.factor) return;
    factor_ = Format::load_vector(slopes_.factor + place_.channel);
    constant_ = Format::load_vector(slopes_.constant + place_.channel);
  }
  [[gnu::always_inline]] void one(std::int64_t row) {
    const float* from = sums_ + row * block_rows;
    const std::int64_t at = place_.offset + row * Format::row_bytes;
    const std::int64_t ahead = next_ + row * Format::row_bytes;
    __m512 low = _mm512_load_ps(from), high = _mm512_load_ps(from + 16);
    if (slopes_.other) {
      fetch(slopes_.other + ahead);
      low = _mm512_add_ps(low, Format::half(slopes_.other + at, 0));
      high = _mm512_add_ps(high, Format::half(slopes_.other + at, 1));
    }
    typename Format::Stored slope = Format::narrow(low, high, flushed_);
    if (slopes_.kept) {
      fetch(slopes_.kept + ahead);
      slope = Format::keep(slopes_.kept + at, slope);
    }
    Pair deviation[products + 2];
#pragma GCC unroll 2
    for (int p = 0; p < products; ++p) {
      const std::byte* x = slopes_.products[p].x;
      fetch(x + ahead);
      deviation[p] = Format::load(x + at) - mean_[p];
    }
    if constexpr (products > 0)
      if (slopes_.factor) slope = Format::keep(fma(deviation[0], factor_, constant_), slope);
    Format::template put<stream>(target_ + at, slope);
    if constexpr (products >= 0) {
      const Pair wide = Format::widen(slope);
      sum_ = sum_ + wide;
#pragma GCC unroll 2
      for (int p = 0; p < products; ++p) product_[p] = fma(wide, deviation[p], product_[p]);
    }
  }
  void end() const {
    if constexpr (products >= 0)
      add_vector<Format>(slopes_.sum + place_.channel, sum_, place_.first);
    for (int p = 0; p < products; ++p)
      add_vector<Format>(slopes_.products[p].sum + place_.channel, product_[p], place_.first);
    flushed_.end();
  }

 private:
  [[gnu::always_inline]] static void fetch(const std::byte* row) {
    for (std::int64_t line = 0; line < Format::row_bytes; line += 64)
      _mm_prefetch(reinterpret_cast<const char*>(row + line), _MM_HINT_T0);
  }

  const Slopes slopes_;
  const float* sums_;
  std::byte* target_;
  BlockPlace place_;
  std::int64_t next_;
  PieceFlushed flushed_;
  Pair factor_ = zeros(), constant_ = zeros();
  Pair mean_[products + 2], sum_ = zeros(), product_[products + 2]{zeros()};
};

// Finishes the rows of a block, a few at a time.
template <class Row>
class Paced {
 public:
  Paced(const TilePiece& piece, const BlockToFinish& work) : row_(piece, work) {}
  [[gnu::always_inline]] void step(int rows) {
    for (int i = 0; i < rows && at_ < block_rows; ++i) row_.one(at_++);
  }
  [[gnu::always_inline]] void rest() {
    step(block_rows);
    row_.end();
  }

 private:
  Row row_;
  std::int64_t at_ = 0;
};

// Stands for the previous block before the first one.
struct NothingYet {
  void step(int) const {}
  void rest() const {}
};

// Calls body.operator()<Row>() with the row type for the piece's epilogue.
template <class Format, class Body>
void with_row(const TilePiece& piece, const Body& body) {
  const auto choose = [&]<bool stream>() {
    switch (piece.epilogue.kind) {
      case Epilogue::Kind::plain:
        return body.template operator()<PlainRow<Format, stream, false>>();
      case Epilogue::Kind::relu:
        return body.template operator()<PlainRow<Format, stream, true>>();
      case Epilogue::Kind::moments:
        return body.template operator()<MomentsRow<Format, stream>>();
      case Epilogue::Kind::slopes:
        break;
    }
    switch (piece.epilogue.slopes.sum ? piece.epilogue.slopes.count : -1) {
      case -1:
        return body.template operator()<SlopesRow<Format, stream, -1>>();
      case 0:
        return body.template operator()<SlopesRow<Format, stream, 0>>();
      case 1:
        return body.template operator()<SlopesRow<Format, stream, 1>>();
      default:
        return body.template operator()<SlopesRow<Format, stream, 2>>();
    }
  };
  piece.stream ? choose.template operator()<true>() : choose.template operator()<false>();
}

}  // namespace narrowgauge::cpu::amx

#endif
