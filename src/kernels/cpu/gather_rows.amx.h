// SPDX-License-Identifier: Apache-2.0
// How a block of sums becomes a block of the result, a row of 32 channels at a time: the epilogues
// of batch_inner.h. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/batch_inner.h"
#include "kernels/cpu/pairs.amx.h"
#include "kernels/cpu/tiles.amx.h"

namespace narrowgauge::cpu::amx {

// Where a block of the result lies, and whether it is the first of its channels in the piece.
struct BlockPlace {
  std::int64_t offset = 0;  // in bytes
  std::int64_t channel = 0;
  bool first = false;
};

// The block to finish, and the one after it: what that will read is fetched meanwhile.
struct Finishing {
  const float* sums;
  BlockPlace block, next;
};

template <bool stream>
[[gnu::always_inline]] inline void put_row(std::byte* to, __m512i row) {
  if constexpr (stream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
  else
    _mm512_store_si512(to, row);
}

[[gnu::always_inline]] inline void add_vector(float* sums, const Pair& more, bool first) {
  store_vector(sums, first ? more : load_vector(sums) + more);
}

template <bool stream, bool relu>
class PlainRow {
 public:
  PlainRow(const GatherPiece& piece, const Finishing& work)
      : sums_(work.sums), target_(piece.result + work.block.offset) {
    low_ = _mm512_loadu_ps(piece.bias + work.block.channel);
    high_ = _mm512_loadu_ps(piece.bias + work.block.channel + 16);
  }
  [[gnu::always_inline]] void one(std::int64_t row) const {
    const float* from = sums_ + row * block_rows;
    __m512 low = _mm512_add_ps(_mm512_load_ps(from), low_);
    __m512 high = _mm512_add_ps(_mm512_load_ps(from + 16), high_);
    if constexpr (relu) {  // a NaN, the second operand, stays one
      low = _mm512_max_ps(_mm512_setzero_ps(), low);
      high = _mm512_max_ps(_mm512_setzero_ps(), high);
    }
    put_row<stream>(target_ + row * 64, to_bf16(low, high));
  }
  void end() const {}

 private:
  const float* sums_;
  std::byte* target_;
  __m512 low_, high_;
};

template <bool stream>
class MomentsRow {
 public:
  MomentsRow(const GatherPiece& piece, const Finishing& work)
      : sums_(work.sums),
        target_(piece.result + work.block.offset),
        moments_(piece.epilogue.moments),
        channel_(work.block.channel),
        first_(work.block.first) {
    low_ = _mm512_loadu_ps(piece.bias + channel_);
    high_ = _mm512_loadu_ps(piece.bias + channel_ + 16);
    shift_ = first_ ? finite(widened(rounded(0))) : load_vector(moments_.shift + channel_);
  }
  [[gnu::always_inline]] void one(std::int64_t row) {
    const __m512i narrow = rounded(row);
    put_row<stream>(target_ + row * 64, narrow);
    const Pair deviation = widened(narrow) - shift_;
    sum_ = sum_ + deviation;
    squares_ = fma(deviation, deviation, squares_);
  }
  void end() const {
    if (first_) store_vector(moments_.shift + channel_, shift_);
    add_vector(moments_.sum + channel_, sum_, first_);
    add_vector(moments_.squares + channel_, squares_, first_);
  }

 private:
  [[gnu::always_inline]] __m512i rounded(std::int64_t row) const {
    const float* from = sums_ + row * block_rows;
    return to_bf16(_mm512_add_ps(_mm512_load_ps(from), low_),
                   _mm512_add_ps(_mm512_load_ps(from + 16), high_));
  }

  const float* sums_;
  std::byte* target_;
  PieceMoments moments_;
  std::int64_t channel_;
  bool first_;
  __m512 low_, high_;
  Pair shift_, sum_ = zeros(), squares_ = zeros();
};

// `products` -1: no sum either.
template <bool stream, int products>
class SlopesRow {
 public:
  SlopesRow(const GatherPiece& piece, const Finishing& work)
      : slopes_(piece.epilogue.slopes),
        sums_(work.sums),
        target_(piece.result),
        place_(work.block),
        next_(work.next.offset) {
    for (int p = 0; p < products; ++p)
      mean_[p] = load_vector(slopes_.products[p].mean + place_.channel);
  }
  [[gnu::always_inline]] void one(std::int64_t row) {
    const float* from = sums_ + row * block_rows;
    const std::int64_t at = place_.offset + row * 64, ahead = next_ + row * 64;
    __m512 low = _mm512_load_ps(from), high = _mm512_load_ps(from + 16);
    if (slopes_.other) {
      fetch(slopes_.other + ahead);
      low = _mm512_add_ps(low, widened_half(slopes_.other + at));
      high = _mm512_add_ps(high, widened_half(slopes_.other + at + 32));
    }
    __m512i slope = to_bf16(low, high);
    if (slopes_.kept) {
      fetch(slopes_.kept + ahead);
      slope = _mm512_maskz_mov_epi16(is_kept(_mm512_load_si512(slopes_.kept + at)), slope);
    }
    put_row<stream>(target_ + at, slope);
    if constexpr (products >= 0) {
      const Pair wide = widened(slope);
      sum_ = sum_ + wide;
#pragma GCC unroll 2
      for (int p = 0; p < products; ++p) {
        const std::byte* x = slopes_.products[p].x;
        fetch(x + ahead);
        product_[p] = fma(wide, load_row(x + at) - mean_[p], product_[p]);
      }
    }
  }
  void end() const {
    if constexpr (products >= 0) add_vector(slopes_.sum + place_.channel, sum_, place_.first);
    for (int p = 0; p < products; ++p)
      add_vector(slopes_.products[p].sum + place_.channel, product_[p], place_.first);
  }

 private:
  [[gnu::always_inline]] static void fetch(const std::byte* row) {
    _mm_prefetch(reinterpret_cast<const char*>(row), _MM_HINT_T0);
  }
  // Positive, or NaN.
  [[gnu::always_inline]] static __mmask32 is_kept(__m512i row) {
    const __m512i infinity = _mm512_set1_epi16(0x7f80);
    return _mm512_cmpgt_epi16_mask(row, _mm512_setzero_si512()) |
           _mm512_cmpgt_epi16_mask(_mm512_and_si512(row, _mm512_set1_epi16(0x7fff)), infinity);
  }

  const Slopes slopes_;
  const float* sums_;
  std::byte* target_;
  BlockPlace place_;
  std::int64_t next_;
  Pair mean_[products + 2], sum_ = zeros(), product_[products + 2]{zeros()};
};

// Rows of a block, a few at a time.
template <class Row>
class Paced {
 public:
  Paced(const GatherPiece& piece, const Finishing& work) : row_(piece, work) {}
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

// Before the first block.
struct NothingYet {
  void step(int) const {}
  void rest() const {}
};

// body.operator()<Row>() for the row that the piece's epilogue asks for.
template <class Body>
void with_row(const GatherPiece& piece, const Body& body) {
  const auto choose = [&]<bool stream>() {
    switch (piece.epilogue.kind) {
      case Epilogue::Kind::plain:
        return body.template operator()<PlainRow<stream, false>>();
      case Epilogue::Kind::relu:
        return body.template operator()<PlainRow<stream, true>>();
      case Epilogue::Kind::moments:
        return body.template operator()<MomentsRow<stream>>();
      case Epilogue::Kind::slopes:
        break;
    }
    switch (piece.epilogue.slopes.sum ? piece.epilogue.slopes.count : -1) {
      case -1:
        return body.template operator()<SlopesRow<stream, -1>>();
      case 0:
        return body.template operator()<SlopesRow<stream, 0>>();
      case 1:
        return body.template operator()<SlopesRow<stream, 1>>();
      default:
        return body.template operator()<SlopesRow<stream, 2>>();
    }
  };
  piece.stream ? choose.template operator()<true>() : choose.template operator()<false>();
}

}  // namespace narrowgauge::cpu::amx

#endif
