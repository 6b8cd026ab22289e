// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8/int8_blocks.h"

#include <algorithm>

#include "kernels/cpu/amx/byte_tiles.amx.h"
#include "kernels/cpu/int8/int8_finish_avx512.h"

namespace narrowgauge::cpu::amx {
namespace {

// A square with its sums in memory: finished row by row between the products of the next one.
template <bool whole>
class Pending {
 public:
  explicit Pending(const Int8Finish& finish)
      : pitch_(finish.pitch), terms_(finish.row_terms), y_(finish.y) {
    if (whole) y_ += finish.pieces[0].offset;
  }
  [[gnu::always_inline]] void begin(const std::int32_t* sums, std::int64_t row, std::int64_t end) {
    sums_ = sums;
    row_ = row;
    left_ = (end < row + int8_square ? end : row + int8_square) - row;
  }
  [[gnu::always_inline]] void finish(const avx512::Int8Finisher& finisher, std::int64_t rows) {
    const std::int64_t count = rows < left_ ? rows : left_;
    left_ -= count;
    for (std::int64_t i = 0; i < count; ++i, ++row_, sums_ += int8_square) {
      if constexpr (whole) {
        finisher.whole(sums_, terms_[row_], y_);
        y_ += pitch_;
      } else {
        finisher.finish(sums_, row_);
      }
    }
  }

 private:
  std::int64_t pitch_;
  const std::int32_t* terms_;
  std::byte* y_;
  const std::int32_t* sums_ = nullptr;
  std::int64_t row_ = 0, left_ = 0;
};

struct Ahead {
  const std::byte* line;
  const std::byte* end;
  std::int64_t lines;  // in a step

  [[gnu::always_inline]] void fetch() {
    for (std::int64_t i = 0; i < lines && line < end; ++i, line += 64)
      __builtin_prefetch(line, 0, 2);
  }
};

// Squares whose sums begin or continue here and go on in the next steps.
template <int form>
void accumulate(const Int8Strip& strip, Ahead ahead) {
  for (std::int64_t square = 0; square < strip.squares; ++square) {
    std::int32_t* const sums = strip.sums + square * int8_square_sums;
    const std::byte *a = strip.a + square * strip.a_step, *b = strip.b;
    if (strip.first)
      zero_sums();
    else
      load_sums(sums);
    for (std::int64_t s = 0; s < strip.steps; ++s, a += int8_step_bytes, b += int8_step_bytes) {
      ahead.fetch();
      multiply_bytes<form, Reading::streamed>({a, a + 1024, 64}, b);
    }
    store_sums(sums);
  }
}

template <int form, bool whole>
void finish(const Int8Strip& strip, Ahead ahead) {
  alignas(64) std::int32_t scratch[2][int8_square_sums];
  const avx512::Int8Finisher finisher(*strip.last);
  const std::int64_t rows_in_step = (int8_square + strip.steps - 1) / strip.steps;
  Pending<whole> pending(*strip.last);
  for (std::int64_t square = 0; square < strip.squares; ++square) {
    const std::byte *a = strip.a + square * strip.a_step, *b = strip.b;
    if (strip.first)
      zero_sums();
    else
      load_sums(strip.sums + square * int8_square_sums);
    for (std::int64_t s = 0; s < strip.steps; ++s, a += int8_step_bytes, b += int8_step_bytes) {
      ahead.fetch();
      pending.finish(finisher, rows_in_step);
      multiply_bytes<form, Reading::streamed>({a, a + 1024, 64}, b);
    }
    std::int32_t* const sums = scratch[square % 2];
    store_sums(sums);
    pending.begin(sums, square * int8_square, strip.last->rows);
  }
  pending.finish(finisher, int8_square);
  if (strip.last->stream) _mm_sfence();
}

template <int form>
void run(const Int8Strip& strip) {
  const std::int64_t lines = strip.steps * int8_step_bytes / 64;
  Ahead ahead{strip.next, strip.next ? strip.next + lines * 64 : nullptr,
              (lines - 1) / (strip.squares * strip.steps) + 1};
  if (!strip.last)
    accumulate<form>(strip, ahead);
  else if (avx512::Int8Finisher::has_whole_rows(*strip.last))
    finish<form, true>(strip, ahead);
  else
    finish<form, false>(strip, ahead);
}

}  // namespace

void int8_multiply(const Int8Strip& strip) {
  const TileScope tiles;
  before_tile_loads();
  switch ((strip.a_signed ? 2 : 0) + (strip.b_signed ? 1 : 0)) {
    case 0:
      return run<0>(strip);
    case 1:
      return run<1>(strip);
    case 2:
      return run<2>(strip);
    default:
      return run<3>(strip);
  }
}

}  // namespace narrowgauge::cpu::amx
