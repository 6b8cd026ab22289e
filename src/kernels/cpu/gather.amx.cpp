// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner.h"
#include "kernels/cpu/tiles.amx.h"

namespace narrowgauge::cpu::amx {
namespace {

enum class Finish { nothing, store, stream };

// A block of sums on its way into the result: plus bias, as bf16, a few rows at a time.
struct Pending {
  const float* sums = nullptr;
  std::byte* target = nullptr;
  const float* bias = nullptr;
};

template <Finish finish>
class Finishing {
 public:
  explicit Finishing(const Pending& pending) : sums_(pending.sums), target_(pending.target) {
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
    const __m512i row = to_bf16(_mm512_add_ps(_mm512_load_ps(from), low_),
                                _mm512_add_ps(_mm512_load_ps(from + 16), high_));
    auto* to = reinterpret_cast<__m512i*>(target_ + row_ * 64);
    if constexpr (finish == Finish::stream)
      _mm512_stream_si512(to, row);
    else
      _mm512_store_si512(to, row);
    ++row_;
  }

  const float* sums_;
  std::byte* target_;
  __m512 low_{}, high_{};
  int row_ = 0;
};

class Gatherer {
 public:
  Gatherer(const GatherPlan& plan, const GatherPiece& piece) : plan_(plan), piece_(piece) {}

  void run() {
    if (piece_.pixel_by_pixel)
      pixel_by_pixel();
    else
      block_by_block();
    finish_last();
    if (piece_.stream) _mm_sfence();
  }

 private:
  void pixel_by_pixel() {
    for (std::int64_t row = piece_.row_begin; row < piece_.row_end; ++row)
      for (std::int64_t x = 0; x < plan_.result.width; ++x)
        for (std::int64_t block = piece_.block_begin; block < piece_.block_end; ++block)
          one_block<Reading::reused>(row, x, block);
  }

  void block_by_block() {
    for (std::int64_t block = piece_.block_begin; block < piece_.block_end; ++block)
      for (std::int64_t row = piece_.row_begin; row < piece_.row_end; ++row)
        for (std::int64_t x = 0; x < plan_.result.width; ++x)
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
    const std::int64_t at = (row * plan_.result.width + x) * plan_.result.blocks + block;
    pending_ = {sums_[scratch_], piece_.result + at * block_bytes,
                piece_.bias + block * block_rows};
    finish_ = piece_.stream ? Finish::stream : Finish::store;
  }

  template <Reading reading, Finish finish>
  [[gnu::always_inline]] void multiply(std::int64_t row, std::int64_t x, std::int64_t block) {
    const BatchInnerImages& source = plan_.source;
    const std::int64_t group = row / plan_.result.height, y = row % plan_.result.height;
    const std::int32_t *rows = plan_.row_begin + y, *columns = plan_.column_begin + x;
    const std::int64_t most = (rows[1] - rows[0]) * (columns[1] - columns[0]) * source.blocks;
    const int per_step = most > 0 ? static_cast<int>((block_rows + most - 1) / most) : 0;
    Finishing<finish> finishing(pending_);
    for (std::int32_t i = rows[0]; i < rows[1]; ++i) {
      const RowTap& tap = plan_.rows[i];
      const std::byte* from = piece_.source + source.row(group, tap.source) * block_bytes;
      const std::int64_t first_tap = block * plan_.taps + tap.tap * plan_.kernel_width;
      for (std::int32_t j = columns[0]; j < columns[1]; ++j) {
        const ColumnRun& run = plan_.columns[j];
        const std::byte* a = from + run.source * source.blocks * block_bytes;
        const std::byte* b = piece_.weights + (first_tap + run.tap) * source.blocks * block_bytes;
        multiply_run<reading>(a, block_bytes, b, block_bytes, run.length * source.blocks, finishing,
                              per_step);
      }
    }
    finishing.rest();
  }

  void finish_last() {
    if (finish_ == Finish::stream) Finishing<Finish::stream>(pending_).rest();
    if (finish_ == Finish::store) Finishing<Finish::store>(pending_).rest();
  }

  const GatherPlan& plan_;
  const GatherPiece& piece_;
  Pending pending_;
  Finish finish_ = Finish::nothing;
  int scratch_ = 0;
  alignas(64) float sums_[2][sums_in_block];
};

}  // namespace

void gather(const GatherPlan& plan, const GatherPiece& piece) {
  const TileScope tiles;
  before_tile_loads();
  Gatherer(plan, piece).run();
}

}  // namespace narrowgauge::cpu::amx
