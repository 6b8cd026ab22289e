// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tile_gemm_plan.h"
#include "kernels/cpu/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

constexpr std::int64_t block = 32;
constexpr __mmask32 whole = ~__mmask32{};

// What becomes of a block of sums.
//   add: onto those of earlier runs   set: into the result   set_total: with those of earlier runs
enum class Finish { nothing, add, set, set_total };

// Where results go, as a whole.
struct Target {
  DType dtype = DType::f32;
  std::int64_t row_bytes = 0;
  bool stream = false;
};

struct Pending {
  const float* sums = nullptr;
  float* total = nullptr;
  std::byte* to = nullptr;
  const float* bias = nullptr;
  std::int64_t rows = 0;  // of the result
  __mmask32 columns = 0;
  Target target;
};

[[gnu::always_inline]] inline void store_row(const Target& target, std::byte* to, __m512 low,
                                             __m512 high, __mmask32 columns,
                                             std::int64_t& flushed) {
  if (target.dtype == DType::bf16) {
    const __m512i row = to_bf16(low, high);
    if (target.stream && columns == whole)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
    else
      _mm512_mask_storeu_epi16(to, columns, row);
  } else if (target.dtype == DType::f32) {
    if (target.stream && columns == whole) {
      _mm512_stream_ps(reinterpret_cast<float*>(to), low);
      _mm512_stream_ps(reinterpret_cast<float*>(to) + 16, high);
    } else {
      _mm512_mask_storeu_ps(to, static_cast<__mmask16>(columns), low);
      _mm512_mask_storeu_ps(to + 64, static_cast<__mmask16>(columns >> 16), high);
    }
  } else {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512i row = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(low, nearest)),
                                           _mm512_cvtps_ph(high, nearest), 1);
    const __m512i size = _mm512_and_si512(row, _mm512_set1_epi16(0x7fff));
    const __mmask32 zeros = _mm512_mask_cmpeq_epi16_mask(columns, size, _mm512_setzero_si512());
    if (zeros) {
      const __mmask32 values =
          _mm512_kunpackw(_mm512_cmp_ps_mask(high, _mm512_setzero_ps(), _CMP_NEQ_UQ),
                          _mm512_cmp_ps_mask(low, _mm512_setzero_ps(), _CMP_NEQ_UQ));
      flushed += __builtin_popcount(zeros & values);
    }
    _mm512_mask_storeu_epi16(to, columns, row);
  }
}

template <Finish finish>
class Finishing {
 public:
  explicit Finishing(const Pending& pending)
      : sums_(pending.sums),
        total_(pending.total),
        to_(pending.to),
        row_bytes_(pending.target.row_bytes),
        target_(pending.target),
        rows_(pending.rows),
        columns_(pending.columns) {
    if constexpr (finish == Finish::set || finish == Finish::set_total) {
      low_ = _mm512_loadu_ps(pending.bias);
      high_ = _mm512_loadu_ps(pending.bias + 16);
    }
  }
  [[gnu::always_inline]] void step(std::int64_t rows) {
    if constexpr (finish != Finish::nothing) {
      const std::int64_t count = rows < left_ ? rows : left_;
      left_ -= count;
      for (std::int64_t i = 0; i < count; ++i) one_row();
    }
  }
  // Returns how many results became zero in f16.
  [[gnu::always_inline]] std::int64_t rest() {
    step(left_);
    return flushed_;
  }

 private:
  [[gnu::always_inline]] void one_row() {
    __m512 low = _mm512_load_ps(sums_), high = _mm512_load_ps(sums_ + 16);
    if constexpr (finish != Finish::set) {
      low = _mm512_add_ps(_mm512_load_ps(total_), low);
      high = _mm512_add_ps(_mm512_load_ps(total_ + 16), high);
    }
    if constexpr (finish == Finish::add) {
      _mm512_store_ps(total_, low);
      _mm512_store_ps(total_ + 16, high);
    } else if (rows_-- > 0) {
      store_row(target_, to_, _mm512_add_ps(low, low_), _mm512_add_ps(high, high_), columns_,
                flushed_);
      to_ += row_bytes_;
    }
    sums_ += block;
    total_ += block;
  }

  const float* sums_;
  float* total_;
  std::byte* to_;
  std::int64_t row_bytes_;
  Target target_;
  std::int64_t rows_, left_ = block, flushed_ = 0;
  __mmask32 columns_;
  __m512 low_{}, high_{};
};

// Lines that are needed next, a few at each step. A and B take turns, block by block.
struct Fetching {
  TileAhead ahead;
  std::int64_t left = 0;
  std::int64_t lines_in_step = 0;

  // All in so many steps.
  void begin(const TileAhead& from, std::int64_t lines, std::int64_t steps) {
    ahead = from;
    left = steps > 0 ? lines : 0;
    lines_in_step = steps > 0 ? (2 * lines + steps - 1) / steps : 0;
  }
};

[[gnu::always_inline]] inline void multiply_four() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// hi*hi + hi*lo + lo*hi. A passes through L2 once, B lies in L1.
[[gnu::always_inline]] inline void multiply_split_block(const std::byte* a, const std::byte* b) {
  _tile_stream_loadd(4, a, 64);
  _tile_stream_loadd(5, a + 1024, 64);
  _tile_loadd(6, b, 64);
  _tile_loadd(7, b + 1024, 64);
  multiply_four();
  _tile_loadd(6, b + 2048, 64);
  _tile_loadd(7, b + 3072, 64);
  multiply_four();
  _tile_stream_loadd(4, a + 2048, 64);
  _tile_stream_loadd(5, a + 3072, 64);
  _tile_loadd(6, b, 64);
  _tile_loadd(7, b + 1024, 64);
  multiply_four();
}

struct Operands {
  const std::byte *a, *b;
  std::int64_t steps;
};

// A block of sums, while the one before is finished and lines are fetched. A function of its own:
// everything must stay in registers. Returns how many results became zero in f16.
template <int planes, Finish finish>
[[gnu::noinline]] std::int64_t sum_block(const Operands& operands, const Pending& pending,
                                         Fetching& fetching) {
  Finishing<finish> finishing(pending);
  TileAhead ahead = fetching.ahead;
  const std::int64_t steps = operands.steps, rows = (block + steps - 1) / steps;
  const std::int64_t lines = fetching.left > 0 ? fetching.lines_in_step : 0;
  const std::byte *a = operands.a, *b = operands.b;
  zero_sums();
  for (std::int64_t s = 0; s < steps; ++s, a += planes * 2048, b += planes * 2048) {
    ahead.fetch(lines);
    finishing.step(rows);
    if constexpr (planes == 1)
      multiply_block<Reading::streamed>(a, b);
    else
      multiply_split_block(a, b);
  }
  fetching.ahead = ahead;
  fetching.left -= lines * steps;
  return finishing.rest();
}

template <int planes>
class Worker {
 public:
  Worker(const TileGemmPlan& plan, const TileBuffers& buffers,
         FunctionRef<bool(TileGemmPiece&)> next)
      : plan_(plan),
        buffers_(buffers),
        next_piece_(next),
        element_(plan.y.dtype == DType::f32 ? 4 : 2),
        a_feed_(plan.a, TileRole::a, planes),
        b_feed_(plan.b, TileRole::b, planes) {}

  std::int64_t run() {
    next_.end = plan_.steps;
    more_ = advance(next_);
    if (!more_) return 0;
    begin_a(0);
    begin_b(next_, 0, next_.begin, 0);
    while (more_) {
      task_ = next_;
      more_ = advance(next_);
      a_feed_.pack();
      fetching_[0].left = 0;
      if (more_) begin_a(task_.piece.row_count * task_.piece.column_count * task_.steps());
      multiply_task();
    }
    finish_last();
    if (stream_) _mm_sfence();
    return flushed_;
  }

 private:
  static constexpr std::int64_t step_bytes = planes * 2048;

  // A chunk of a piece.
  struct Task {
    TileGemmPiece piece;
    std::int64_t begin, end;
    std::int64_t steps() const { return end - begin; }
  };

  bool advance(Task& task) {
    if (task.end < plan_.steps) {
      task.begin = task.end;
    } else {
      if (!next_piece_(task.piece)) return false;
      stream_ |= task.piece.stream;
      task.begin = 0;
    }
    task.end = least(task.begin + plan_.chunk, plan_.steps);
    return true;
  }

  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Packs A of the next task, within so many steps.
  void begin_a(std::int64_t steps) {
    const TileGemmPiece& piece = next_.piece;
    a_feed_.begin(piece.a, {piece.row, piece.row + piece.row_count, next_.begin, next_.end},
                  buffers_.a);
    fetching_[0].begin(a_feed_.ahead(), a_feed_.lines(), steps);
  }

  // Packs the part of a panel of B that comes next, or fetches it from where it is packed.
  void begin_b(const Task& task, std::int64_t panel, std::int64_t first, std::int64_t steps) {
    const std::int64_t last = least(first + plan_.run, task.end);
    const std::int64_t outer = task.piece.column + panel;
    if (plan_.shared_b) {
      b_next_ = task.piece.shared_b + (outer * plan_.steps + first) * step_bytes;
      const std::int64_t bytes = (last - first) * step_bytes;
      fetching_[1].begin({b_next_, b_next_ + bytes, bytes, 0}, bytes / 64, steps);
      return;
    }
    b_next_ = buffers_.b;
    b_feed_.begin(task.piece.b, {outer, outer + 1, first, last}, buffers_.b);
    fetching_[1].begin(b_feed_.ahead(), b_feed_.lines(), steps);
  }

  void multiply_task() {
    for (std::int64_t p = 0; p < task_.piece.column_count; ++p)
      for (std::int64_t s = task_.begin; s < task_.end; s += plan_.run) {
        const std::int64_t last = least(s + plan_.run, task_.end);
        if (!plan_.shared_b) b_feed_.pack();
        const std::byte* b = b_next_;
        fetching_[1].left = 0;
        const std::int64_t steps = (last - s) * task_.piece.row_count;
        if (last < task_.end)
          begin_b(task_, p, last, steps);
        else if (p + 1 < task_.piece.column_count)
          begin_b(task_, p + 1, task_.begin, steps);
        else if (more_)
          begin_b(next_, 0, next_.begin, steps);
        before_tile_loads();
        one_panel(b, p, s, last);
      }
  }

  void one_panel(const std::byte* b, std::int64_t p, std::int64_t first, std::int64_t last) {
    const std::int64_t steps = last - first;
    for (std::int64_t i = 0; i < task_.piece.row_count; ++i) {
      const std::byte* a = buffers_.a + (i * task_.steps() + first - task_.begin) * step_bytes;
      multiply(a, b, steps);
      const std::int64_t at = plan_.one_chunk() ? i : p * task_.piece.row_count + i;
      float* const sums = buffers_.sums + at * sums_in_block;
      if (first == 0 && last < plan_.steps) {
        store_sums(sums);
        finish_ = Finish::nothing;
        continue;
      }
      scratch_ ^= 1;
      store_sums(sums_[scratch_]);
      finish_ = last < plan_.steps ? Finish::add : first == 0 ? Finish::set : Finish::set_total;
      pend(p, i, sums);
    }
  }

  void pend(std::int64_t p, std::int64_t i, float* sums) {
    const TileGemmPiece& piece = task_.piece;
    const std::int64_t row = (piece.row + i) * block, column = (piece.column + p) * block;
    const std::int64_t left = plan_.y.columns - column, row_bytes = plan_.y.row_step * element_;
    pending_ = {sums_[scratch_],
                sums,
                piece.y + row * row_bytes + column * element_,
                piece.bias + column,
                plan_.y.rows - row,
                left >= block ? whole : (__mmask32{1} << left) - 1,
                {plan_.y.dtype, row_bytes, piece.stream}};
  }

  void multiply(const std::byte* a, const std::byte* b, std::int64_t steps) {
    turn_ ^= 1;
    const Operands operands{a, b, steps};
    switch (finish_) {
      case Finish::nothing:
        flushed_ += sum_block<planes, Finish::nothing>(operands, pending_, fetching_[turn_]);
        break;
      case Finish::add:
        flushed_ += sum_block<planes, Finish::add>(operands, pending_, fetching_[turn_]);
        break;
      case Finish::set:
        flushed_ += sum_block<planes, Finish::set>(operands, pending_, fetching_[turn_]);
        break;
      case Finish::set_total:
        flushed_ += sum_block<planes, Finish::set_total>(operands, pending_, fetching_[turn_]);
        break;
    }
  }

  void finish_last() {
    if (finish_ == Finish::set) flushed_ += Finishing<Finish::set>(pending_).rest();
    if (finish_ == Finish::set_total) flushed_ += Finishing<Finish::set_total>(pending_).rest();
  }

  const TileGemmPlan& plan_;
  const TileBuffers& buffers_;
  FunctionRef<bool(TileGemmPiece&)> next_piece_;
  std::int64_t element_, flushed_ = 0;
  bool more_ = false, stream_ = false;
  Task task_{}, next_{};
  TileFeed a_feed_, b_feed_;
  int scratch_ = 0, turn_ = 0;
  const std::byte* b_next_ = nullptr;
  Fetching fetching_[2];  // of A and of B
  Pending pending_;
  Finish finish_ = Finish::nothing;
  alignas(64) float sums_[2][sums_in_block];
};

}  // namespace

std::int64_t multiply_pieces(const TileGemmPlan& plan, const TileBuffers& buffers,
                             FunctionRef<bool(TileGemmPiece&)> next) {
  const TileScope tiles;
  return plan.planes == 1 ? Worker<1>(plan, buffers, next).run()
                          : Worker<2>(plan, buffers, next).run();
}

}  // namespace narrowgauge::cpu::amx
