// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/tile_finishing.amx.h"
#include "kernels/cpu/tiles/tile_gemm_plan.h"

namespace narrowgauge::cpu::amx {
namespace {

// Prefetches lines needed next, a few at each step. A and B take turns, block by block.
struct Fetching {
  TileAhead ahead;
  std::int64_t left = 0;
  std::int64_t lines_in_step = 0;

  // Spreads all lines over so many steps.
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

// hi*hi + hi*lo + lo*hi. A passes through L2 once, B stays in L1.
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
  TileAhead beside;  // what an activation reads beside the block
  std::int64_t beside_lines;
};

// Sums a block while the previous one is finished and lines are prefetched. It is a function of its
// own so that everything stays in registers. Returns how many results became zero in f16.
template <int planes, Finish finish, TileActivation activation>
[[gnu::noinline]] std::int64_t sum_block(const Operands& operands, const Pending& pending,
                                         Fetching& fetching) {
  Finishing<finish, activation> finishing(pending);
  TileAhead ahead = fetching.ahead;
  const std::int64_t steps = operands.steps, each = (block + steps - 1) / steps;
  // An activation takes rows in pairs.
  const std::int64_t rows = activation == TileActivation::none ? each : (each + 1) / 2 * 2;
  const std::int64_t lines = fetching.left > 0 ? fetching.lines_in_step : 0;
  const std::byte *a = operands.a, *b = operands.b;
  TileAhead beside = operands.beside;
  const std::int64_t beside_rows = operands.beside_lines > 0 ? rows : 0;
  zero_sums();
  for (std::int64_t s = 0; s < steps; ++s, a += planes * 2048, b += planes * 2048) {
    ahead.fetch(lines);
    if constexpr (activation == TileActivation::gelu_gradient) beside.fetch(beside_rows);
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

template <int planes, TileActivation activation>
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
      a_ = a_next_;
      if (!plan_.shared_a) a_feed_.pack();
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

  // A task is one chunk of a piece.
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

  static std::int64_t blocks_of(std::int64_t count) { return (count + block - 1) / block; }
  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Packs A for the next task within so many steps.
  void begin_a(std::int64_t steps) {
    const TileGemmPiece& piece = next_.piece;
    if (plan_.shared_a) {
      a_next_ = piece.shared_a + plan_.packed_at(blocks_of(plan_.y.rows), piece.row, next_.begin);
      const std::int64_t bytes = piece.row_count * next_.steps() * step_bytes;
      fetching_[0].begin({a_next_, a_next_ + bytes, bytes, 0}, bytes / 64, steps);
      return;
    }
    a_next_ = buffers_.a;
    a_feed_.begin(piece.a, {piece.row, piece.row + piece.row_count, next_.begin, next_.end},
                  buffers_.a);
    fetching_[0].begin(a_feed_.ahead(), a_feed_.lines(), steps);
  }

  // Packs the next part of a panel of B, or prefetches it if it is already packed.
  void begin_b(const Task& task, std::int64_t panel, std::int64_t first, std::int64_t steps) {
    const std::int64_t last = least(first + plan_.run, task.end);
    const std::int64_t outer = task.piece.column + panel;
    if (plan_.shared_b) {
      b_next_ = task.piece.shared_b + plan_.packed_at(blocks_of(plan_.y.columns), outer, first);
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
      const std::byte* a = a_ + (i * task_.steps() + first - task_.begin) * step_bytes;
      Operands operands{a, b, steps, {}, 0};
      if (activation == TileActivation::gelu_gradient && last == plan_.steps)
        look_beside(p, i, operands);
      multiply(operands);
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
    const std::int64_t place = row * row_bytes + column * element_;
    pending_ = {
        sums_[scratch_],
        sums,
        piece.y + place,
        piece.beside ? piece.beside + place : nullptr,
        piece.sums ? piece.sums + (piece.row + i) * plan_.padded_columns() + column : nullptr,
        piece.bias + column,
        plan_.y.rows - row,
        left >= block ? whole : (__mmask32{1} << left) - 1,
        {plan_.y.dtype, row_bytes, piece.stream}};
  }

  // Fetches the values beside a block that is about to be multiplied.
  void look_beside(std::int64_t p, std::int64_t i, Operands& operands) const {
    const TileGemmPiece& piece = task_.piece;
    const std::int64_t row = (piece.row + i) * block, column = (piece.column + p) * block;
    const std::int64_t row_bytes = plan_.y.row_step * element_;
    const std::byte* from = piece.beside + row * row_bytes + column * element_;
    operands.beside = {from, from + 64, row_bytes, row_bytes - 64};
    operands.beside_lines = block;
  }

  void multiply(const Operands& operands) {
    turn_ ^= 1;
    switch (finish_) {
      case Finish::nothing:
        flushed_ += sum_block<planes, Finish::nothing, TileActivation::none>(operands, pending_,
                                                                             fetching_[turn_]);
        break;
      case Finish::add:
        flushed_ += sum_block<planes, Finish::add, TileActivation::none>(operands, pending_,
                                                                         fetching_[turn_]);
        break;
      case Finish::set:
        flushed_ +=
            sum_block<planes, Finish::set, activation>(operands, pending_, fetching_[turn_]);
        break;
      case Finish::set_total:
        flushed_ +=
            sum_block<planes, Finish::set_total, activation>(operands, pending_, fetching_[turn_]);
        break;
    }
  }

  void finish_last() {
    if (finish_ == Finish::set) flushed_ += Finishing<Finish::set, activation>(pending_).rest();
    if (finish_ == Finish::set_total)
      flushed_ += Finishing<Finish::set_total, activation>(pending_).rest();
  }

  const TileGemmPlan& plan_;
  const TileBuffers& buffers_;
  FunctionRef<bool(TileGemmPiece&)> next_piece_;
  std::int64_t element_, flushed_ = 0;
  bool more_ = false, stream_ = false;
  Task task_{}, next_{};
  TileFeed a_feed_, b_feed_;
  int scratch_ = 0, turn_ = 0;
  const std::byte *a_ = nullptr, *a_next_ = nullptr, *b_next_ = nullptr;
  Fetching fetching_[2];  // of A and of B
  Pending pending_;
  Finish finish_ = Finish::nothing;
  alignas(64) float sums_[2][sums_in_block];
};

}  // namespace

std::int64_t multiply_pieces(const TileGemmPlan& plan, const TileBuffers& buffers,
                             FunctionRef<bool(TileGemmPiece&)> next) {
  const TileScope tiles;
  if (plan.planes == 2) return Worker<2, TileActivation::none>(plan, buffers, next).run();
  switch (plan.activation) {
    case TileActivation::none:
      break;
    case TileActivation::gelu:
      return Worker<1, TileActivation::gelu>(plan, buffers, next).run();
    case TileActivation::gelu_gradient:
      return Worker<1, TileActivation::gelu_gradient>(plan, buffers, next).run();
  }
  return Worker<1, TileActivation::none>(plan, buffers, next).run();
}

}  // namespace narrowgauge::cpu::amx
