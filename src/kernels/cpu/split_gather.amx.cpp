// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/split_tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

enum class Finish { nothing, store, stream };

// A block of sums on its way into the result.
struct Pending {
  const float* sums = nullptr;
  std::byte* target = nullptr;
  const float* bias = nullptr;
};

template <Finish finish>
[[gnu::always_inline]] inline void put(std::byte* to, __m512i row) {
  if constexpr (finish == Finish::stream)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
  else
    _mm512_store_si512(to, row);
}

// Sums plus bias in the result's format, a few rows at a time.
template <DType dtype, Finish finish>
class Finishing {
 public:
  Finishing(const Pending& pending, std::int64_t& lost)
      : sums_(pending.sums), target_(pending.target), lost_(lost) {
    if constexpr (finish != Finish::nothing) {
      low_ = _mm512_loadu_ps(pending.bias);
      high_ = _mm512_loadu_ps(pending.bias + 16);
    }
  }
  [[gnu::always_inline]] void step(int rows) {
    if constexpr (finish != Finish::nothing)
      for (int i = 0; i < rows && row_ < block_rows; ++i) one_row();
  }
  [[gnu::always_inline]] void rest() { step(block_rows); }

 private:
  [[gnu::always_inline]] void one_row() {
    const float* from = sums_ + row_ * block_rows;
    const __m512 low = _mm512_add_ps(_mm512_load_ps(from), low_);
    const __m512 high = _mm512_add_ps(_mm512_load_ps(from + 16), high_);
    if constexpr (dtype == DType::f16) {
      put<finish>(target_ + row_ * 64, to_f16(low, high, lost_));
    } else {
      put<finish>(target_ + row_ * 128, _mm512_castps_si512(low));
      put<finish>(target_ + row_ * 128 + 64, _mm512_castps_si512(high));
    }
    ++row_;
  }

  const float* sums_;
  std::byte* target_;
  std::int64_t& lost_;
  __m512 low_{}, high_{};
  int row_ = 0;
};

template <DType dtype>
class Gatherer {
 public:
  Gatherer(const GatherPlan& plan, const SplitGatherPiece& piece) : plan_(plan), piece_(piece) {}

  std::int64_t run() {
    if (piece_.pixel_by_pixel)
      pixel_by_pixel();
    else
      block_by_block();
    if (finish_ == Finish::stream) Finishing<dtype, Finish::stream>(pending_, lost_).rest();
    if (finish_ == Finish::store) Finishing<dtype, Finish::store>(pending_, lost_).rest();
    if (piece_.stream) _mm_sfence();
    return lost_;
  }

 private:
  void pixel_by_pixel() {
    for (std::int64_t row = piece_.row_begin; row < piece_.row_end; ++row)
      for (std::int64_t x = piece_.column_begin; x < piece_.column_end; ++x)
        for (std::int64_t block = piece_.block_begin; block < piece_.block_end; ++block)
          one_block<Reading::reused>(row, x, block);
  }

  void block_by_block() {
    for (std::int64_t block = piece_.block_begin; block < piece_.block_end; ++block)
      for (std::int64_t row = piece_.row_begin; row < piece_.row_end; ++row)
        for (std::int64_t x = piece_.column_begin; x < piece_.column_end; ++x)
          one_block<Reading::streamed>(row, x, block);
  }

  template <Reading reading>
  [[gnu::always_inline]] void one_block(std::int64_t row, std::int64_t x, std::int64_t block) {
    zero_sums();
    switch (finish_) {
      case Finish::nothing:
        multiply<reading, Finish::nothing>(row, x, block);
        break;
      case Finish::store:
        multiply<reading, Finish::store>(row, x, block);
        break;
      case Finish::stream:
        multiply<reading, Finish::stream>(row, x, block);
        break;
    }
    scratch_ ^= 1;
    store_sums(sums_[scratch_]);
    constexpr std::int64_t bytes = dtype == DType::f16 ? block_bytes : 2 * block_bytes;
    const std::int64_t at = (row * plan_.result.width + x) * plan_.result.blocks + block;
    pending_ = {sums_[scratch_], piece_.result + at * bytes, piece_.bias + block * block_rows};
    finish_ = piece_.stream ? Finish::stream : Finish::store;
  }

  template <Reading reading, Finish finish>
  [[gnu::always_inline]] void multiply(std::int64_t row, std::int64_t x, std::int64_t block) {
    const std::int64_t blocks = plan_.source.blocks, y = row % plan_.result.height;
    const std::int32_t *rows = plan_.row_begin + y, *columns = plan_.column_begin + x;
    const std::int64_t most = (rows[1] - rows[0]) * (columns[1] - columns[0]) * blocks;
    const int per_step = most > 0 ? static_cast<int>((block_rows + most - 1) / most) : 0;
    Finishing<dtype, finish> finishing(pending_, lost_);
    for (std::int32_t i = rows[0]; i < rows[1]; ++i) {
      const RowTap& tap = plan_.rows[i];
      const std::int64_t slot = tap.source % piece_.source.slots;
      const std::byte* from =
          piece_.source.blocks +
          (slot * piece_.source.columns - piece_.source.first_column) * blocks * split_block_bytes;
      const std::int64_t first_tap = block * plan_.taps + tap.tap * plan_.kernel_width;
      for (std::int32_t j = columns[0]; j < columns[1]; ++j) {
        const ColumnRun& run = plan_.columns[j];
        multiply_split_run<reading>(
            from + run.source * blocks * split_block_bytes, split_block_bytes,
            piece_.weights + (first_tap + run.tap) * blocks * split_block_bytes, split_block_bytes,
            run.length * blocks, finishing, per_step);
      }
    }
    finishing.rest();
  }

  const GatherPlan& plan_;
  const SplitGatherPiece& piece_;
  std::int64_t lost_ = 0;
  Pending pending_;
  Finish finish_ = Finish::nothing;
  int scratch_ = 0;
  alignas(64) float sums_[2][sums_in_block];
};

}  // namespace

std::int64_t gather_split(const GatherPlan& plan, const SplitGatherPiece& piece) {
  const TileScope tiles;
  before_tile_loads();
  if (piece.result_dtype == DType::f16) return Gatherer<DType::f16>(plan, piece).run();
  return Gatherer<DType::f32>(plan, piece).run();
}

}  // namespace narrowgauge::cpu::amx
