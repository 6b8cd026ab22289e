// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/split_tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

enum class Finish { nothing, set, add };

template <Finish finish>
class SumsWriter {
 public:
  SumsWriter(const float* sums, float* target) : sums_(sums), target_(target) {}
  [[gnu::always_inline]] void step(int rows) {
    if constexpr (finish != Finish::nothing)
      for (int i = 0; i < rows && row_ < block_rows; ++i) one_row();
  }
  [[gnu::always_inline]] void rest() { step(block_rows); }

 private:
  [[gnu::always_inline]] void one_row() {
    const std::int64_t at = row_ * block_rows;
    __m512 low = _mm512_load_ps(sums_ + at), high = _mm512_load_ps(sums_ + at + 16);
    if constexpr (finish == Finish::add) {
      low = _mm512_add_ps(_mm512_load_ps(target_ + at), low);
      high = _mm512_add_ps(_mm512_load_ps(target_ + at + 16), high);
    }
    _mm512_store_ps(target_ + at, low);
    _mm512_store_ps(target_ + at + 16, high);
    ++row_;
  }

  const float* sums_;
  float* target_;
  std::int64_t row_ = 0;
};

constexpr std::int64_t part_pixels = 16;

// `split`: each value has two parts.
template <bool split>
class Accumulator {
  static constexpr std::int64_t block_size = split ? split_block_bytes : block_bytes;

 public:
  Accumulator(const WeightGradientPlan& plan, const WeightGradientPiece& piece)
      : plan_(plan),
        piece_(piece),
        x_row_(plan.x.width * block_size),
        y_row_(plan.y.width * block_size) {}

  void run() {
    piece_.near ? by_parts() : by_blocks();
    if (finish_ == Finish::set) SumsWriter<Finish::set>(sums_[scratch_], target_).rest();
    if (finish_ == Finish::add) SumsWriter<Finish::add>(sums_[scratch_], target_).rest();
  }

 private:
  // A range of pixels of dy.
  struct Part {
    std::int64_t row_begin, row_end, column_begin, column_end;
  };

  void by_blocks() {
    add_ = piece_.add;
    part_ = {piece_.row_begin, piece_.row_end, 0, plan_.y.width};
    for (std::int64_t a = 0; a < plan_.a_blocks(); ++a)
      for (std::int64_t b = piece_.b_begin; b < piece_.b_end; ++b) all_taps(a, b);
  }

  // Takes so few pixels at a time that their blocks of B stay in L1 while all of A streams past.
  void by_parts() {
    const std::int64_t width = plan_.y.width, parts = (width + part_pixels - 1) / part_pixels;
    const std::int64_t rows = width < part_pixels ? part_pixels / (width > 0 ? width : 1) : 1;
    for (std::int64_t b = piece_.b_begin; b < piece_.b_end; ++b) {
      add_ = piece_.add;
      for (std::int64_t row = piece_.row_begin; row < piece_.row_end; row += rows)
        for (std::int64_t i = 0; i < parts; ++i) {
          const std::int64_t end = row + rows < piece_.row_end ? row + rows : piece_.row_end;
          part_ = {row, end, width * i / parts, width * (i + 1) / parts};
          for (std::int64_t a = 0; a < plan_.a_blocks(); ++a) all_taps(a, b);
          add_ = true;
        }
    }
  }

  void all_taps(std::int64_t a, std::int64_t b) {
    for (std::int64_t ky = 0; ky < plan_.kernel_height; ++ky)
      for (std::int64_t kx = 0; kx < plan_.kernel_width; ++kx) one_block(a, b, ky, kx);
  }

  [[gnu::always_inline]] void one_block(std::int64_t a, std::int64_t b, std::int64_t ky,
                                        std::int64_t kx) {
    zero_sums();
    switch (finish_) {
      case Finish::nothing:
        multiply<Finish::nothing>(a, b, ky, kx);
        break;
      case Finish::set:
        multiply<Finish::set>(a, b, ky, kx);
        break;
      case Finish::add:
        multiply<Finish::add>(a, b, ky, kx);
        break;
    }
    scratch_ ^= 1;
    store_sums(sums_[scratch_]);
    const std::int64_t tap = ky * plan_.kernel_width + kx;
    target_ = piece_.sums + ((b * plan_.taps() + tap) * plan_.a_blocks() + a) * sums_in_block;
    finish_ = add_ ? Finish::add : Finish::set;
  }

  template <Finish finish>
  [[gnu::always_inline]] void multiply(std::int64_t a, std::int64_t b, std::int64_t ky,
                                       std::int64_t kx) {
    SumsWriter<finish> finishing(sums_[scratch_], target_);
    const TapRange rows = plan_.rows[ky], columns = plan_.columns[kx];
    const std::int64_t x_block = plan_.transpose_x ? a : b, y_block = plan_.transpose_x ? b : a;
    const std::byte* x_rows = piece_.x.blocks + x_block * piece_.x.slots * x_row_;
    const std::byte* y_rows = piece_.y.blocks + y_block * piece_.y.slots * y_row_;
    const std::int64_t begin = part_.row_begin > rows.begin ? part_.row_begin : rows.begin;
    const std::int64_t end = part_.row_end < rows.end ? part_.row_end : rows.end;
    const std::int64_t from =
        part_.column_begin > columns.begin ? part_.column_begin : columns.begin;
    const std::int64_t steps =
        (part_.column_end < columns.end ? part_.column_end : columns.end) - from;
    const std::int64_t x_from = columns.source + (from - columns.begin) * plan_.stride_width;
    const std::int64_t x_step = plan_.stride_width * block_size;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t x_slot =
          (rows.source + (row - rows.begin) * plan_.stride_height) % piece_.x.slots;
      const std::byte* x = x_rows + x_slot * x_row_ + x_from * block_size;
      const std::byte* y = y_rows + row % piece_.y.slots * y_row_ + from * block_size;
      if (plan_.transpose_x)
        run(x, x_step, y, block_size, steps, finishing);
      else
        run(y, block_size, x, x_step, steps, finishing);
    }
    finishing.rest();
  }

  template <Finish finish>
  [[gnu::always_inline]] static void run(const std::byte* a, std::int64_t a_step,
                                         const std::byte* b, std::int64_t b_step,
                                         std::int64_t steps, SumsWriter<finish>& finishing) {
    constexpr int rows = 2;  // of the block before, between two products
    if constexpr (split)
      multiply_split_run<Reading::streamed>(a, a_step, b, b_step, steps, finishing, rows);
    else
      multiply_run<Reading::streamed>(a, a_step, b, b_step, steps, finishing, rows);
  }

  const WeightGradientPlan& plan_;
  const WeightGradientPiece& piece_;
  std::int64_t x_row_, y_row_;
  float* target_ = nullptr;
  Part part_{};
  bool add_ = false;  // to the sums
  Finish finish_ = Finish::nothing;
  int scratch_ = 0;
  alignas(64) float sums_[2][sums_in_block];
};

// Packs 32 x 32 values of one tap; the contraction is along rows (of M, backward) or columns.
void pack_weight_block(const std::byte* rows, const WeightBlocks& blocks, std::byte* packed) {
  const std::int64_t step = blocks.inputs * blocks.taps * 2;
  if (blocks.taps == 1) {
    if (blocks.backward) return pack_b(rows, step, packed);
    return pack_b_transposed(rows, step, packed);
  }
  alignas(64) std::uint16_t values[block_rows][block_rows];
  for (std::int64_t m = 0; m < block_rows; ++m) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(rows + m * step);
    for (std::int64_t c = 0; c < block_rows; ++c) values[m][c] = from[c * blocks.taps];
  }
  const auto* source = reinterpret_cast<const std::byte*>(values);
  if (blocks.backward) return pack_b(source, 64, packed);
  pack_b_transposed(source, 64, packed);
}

}  // namespace

void weight_gradient(const WeightGradientPlan& plan, const WeightGradientPiece& piece) {
  const TileScope tiles;
  before_tile_loads();
  Accumulator<false>(plan, piece).run();
}

void weight_gradient_split(const WeightGradientPlan& plan, const WeightGradientPiece& piece) {
  const TileScope tiles;
  before_tile_loads();
  Accumulator<true>(plan, piece).run();
}

// Blocks to prefetch ahead: the hardware stops at the page's end, at most two blocks on.
constexpr std::int64_t ahead = 3;

[[gnu::always_inline]] inline void fetch_block(const std::byte* block) {
  for (std::int64_t line = 0; line < block_bytes; line += 64)
    _mm_prefetch(reinterpret_cast<const char*>(block + line), _MM_HINT_T0);
}

void pack_row(const std::byte* row, const RowPacking& packing, std::int64_t slot,
              const PackedRows& packed) {
  for (std::int64_t x = 0; x < packing.width; ++x) {
    const std::byte* from = row + x * packing.column_step * packing.blocks * block_bytes;
    for (std::int64_t block = 0; block < packing.blocks; ++block, from += block_bytes) {
      fetch_block(from + ahead * block_bytes);
      std::byte* to =
          packed.blocks + ((block * packed.slots + slot) * packing.pitch + x) * block_bytes;
      if (packing.transposed)
        pack_a_transposed(from, 64, to);
      else
        pack_b(from, 64, to);
    }
  }
}

void pack_weights(const std::byte* weights, const WeightBlocks& blocks, std::int64_t begin,
                  std::int64_t end, std::byte* packed) {
  const std::int64_t m_blocks = blocks.outputs / block_rows, c_blocks = blocks.inputs / block_rows;
  const std::int64_t inner_blocks = blocks.backward ? m_blocks : c_blocks;
  for (std::int64_t outer = begin; outer < end; ++outer)
    for (std::int64_t inner = 0; inner < inner_blocks; ++inner) {
      const std::int64_t m = blocks.backward ? inner : outer, c = blocks.backward ? outer : inner;
      const std::byte* from =
          weights + (m * block_rows * blocks.inputs + c * block_rows) * blocks.taps * 2;
      for (std::int64_t tap = 0; tap < blocks.taps; ++tap)
        pack_weight_block(
            from + tap * 2, blocks,
            packed +
                ((outer * blocks.taps + blocks.order[tap]) * inner_blocks + inner) * block_bytes);
    }
}

}  // namespace narrowgauge::cpu::amx
