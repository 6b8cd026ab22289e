// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/cpu/contraction/matrix_operands.h"
#include "kernels/cpu/pairs/dfp16_blocks.h"
#include "kernels/cpu/pairs/pair_work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t tile_depth = 4096;                 // packed at a time
constexpr std::int64_t tile_row_block_bytes = 768 << 10;  // of packed rows: a part of L2
constexpr std::int64_t tile_tasks = 16;
constexpr std::int64_t sums_bytes = dfp16_square * dfp16_square * 4;

class TileProduct {
 public:
  TileProduct(const MatMulViews& views, int threads)
      : views_(views),
        all_(matrices_of(views)),
        depth_(std::min(all_.k, tile_depth)),
        chunks_(ceil_divide(all_.k, tile_depth)) {
    batch_workers_ = all_.count() >= 2 * threads ? threads : 1;
    workers_ = batch_workers_ > 1 ? 1 : threads;
    const std::int64_t fitting = std::max<std::int64_t>(tile_row_block_bytes / (2 * depth_), 64);
    const std::int64_t wanted = workers_ > 1 ? std::min(all_.m / 64, tile_tasks) : 1;
    const std::int64_t blocks = std::max({ceil_divide(all_.m, fitting), wanted, std::int64_t{1}});
    row_block_ = round_up(ceil_divide(all_.m, blocks), dfp16_square);
    row_blocks_ = ceil_divide(all_.m, row_block_);
    if (workers_ > 1)
      column_blocks_ = std::clamp<std::int64_t>(tile_tasks / row_blocks_, 1, panels());
    place_memory();
  }

  std::int64_t workspace() const { return bias_bytes_ + batch_workers_ * matrix_bytes_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    auto* const bias = reinterpret_cast<float*>(memory);
    if (views_.bias) pair_load_bias(*views_.bias, call.inputs[2], bias_bytes_ / 4, bias);
    FlushedCount flushed;
    hand_out(all_.count(), batch_workers_, [&](std::int64_t index, std::int64_t worker) {
      const Matrices::Offsets at = all_.at(index);
      const Matrix matrix{at_offset(call.inputs[0], views_.a.dtype, at.a),
                          at_offset(call.inputs[1], views_.b.dtype, at.b),
                          at_offset(call.outputs[0], views_.y.dtype, at.y),
                          views_.bias ? bias : nullptr,
                          memory + bias_bytes_ + worker * matrix_bytes_};
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
        pack_columns(matrix, chunk);
        hand_out(row_blocks_ * column_blocks_, workers_, [&](std::int64_t task, std::int64_t slot) {
          flushed.add(
              multiply(matrix, chunk, task, matrix.memory + slots_at_ + slot * slot_bytes_));
        });
      }
    });
    flushed.report(call, views_.y.dtype);
  }

 private:
  struct Matrix {
    const void *a, *b;
    void* y;
    const float* bias;
    std::byte* memory;
  };

  std::int64_t panels() const { return ceil_divide(all_.n, dfp16_square); }
  std::int64_t blocks() const { return ceil_divide(depth_, pair_block); }
  std::int64_t panel_bytes() const { return blocks() * dfp16_block_bytes; }
  std::int64_t squares() const { return row_block_ / dfp16_square; }
  std::int64_t depth_of(std::int64_t chunk) const {
    return std::min(tile_depth, all_.k - chunk * tile_depth);
  }

  void place_memory() {
    scales_at_ = panels() * panel_bytes();
    partial_at_ = scales_at_ + panels() * blocks() * dfp16_block_scales * 4;
    const std::int64_t partial = chunks_ > 1 ? row_blocks_ * squares() * panels() * sums_bytes : 0;
    slots_at_ = partial_at_ + partial;
    row_scales_at_ = squares() * panel_bytes();
    sums_at_ = row_scales_at_ + squares() * blocks() * dfp16_block_scales * 4;
    slot_bytes_ = sums_at_ + squares() * sums_bytes;
    matrix_bytes_ = slots_at_ + workers_ * slot_bytes_;
    bias_bytes_ = views_.bias ? panels() * dfp16_square * 4 : 0;
  }

  // Neighbouring panels share pages if sums run across rows of b.
  void pack_columns(const Matrix& matrix, std::int64_t chunk) const {
    constexpr std::int64_t together = 4;
    const std::int64_t groups = ceil_divide(panels(), together);
    const bool dense = all_.b_depth == 1 && all_.b_column != 1;
    hand_out(groups * ceil_divide(depth_of(chunk), pair_block), workers_,
             [&](std::int64_t task, std::int64_t) {
               const std::int64_t block = task / groups, first = task % groups * together;
               const std::int64_t k = block * pair_block;
               const std::int64_t depth = std::min(pair_block, depth_of(chunk) - k);
               for (std::int64_t panel = first; panel < std::min(first + together, panels());
                    ++panel) {
                 const std::int64_t column = panel * dfp16_square;
                 amx::dfp16_pack(
                     {at_offset(matrix.b, views_.b.dtype,
                                (chunk * tile_depth + k) * all_.b_depth + column * all_.b_column),
                      views_.b.dtype, dense ? all_.b_column : all_.b_depth},
                     {std::min(dfp16_square, all_.n - column), depth, false, dense},
                     matrix.memory + panel * panel_bytes() + block * dfp16_block_bytes,
                     scales(matrix.memory + scales_at_, panel, block));
               }
             });
  }

  float* scales(std::byte* memory, std::int64_t panel, std::int64_t block) const {
    return reinterpret_cast<float*>(memory) + (panel * blocks() + block) * dfp16_block_scales;
  }

  void pack_rows(const Matrix& matrix, std::int64_t chunk, std::int64_t begin, std::int64_t end,
                 std::byte* slot) const {
    const bool dense = all_.a_depth == 1;
    for (std::int64_t k = 0, block = 0; k < depth_of(chunk); k += pair_block, ++block)
      for (std::int64_t row = begin, square = 0; row < end; row += dfp16_square, ++square)
        amx::dfp16_pack({at_offset(matrix.a, views_.a.dtype,
                                   (chunk * tile_depth + k) * all_.a_depth + row * all_.a_row),
                         views_.a.dtype, dense ? all_.a_row : all_.a_depth},
                        {std::min(dfp16_square, end - row),
                         std::min(pair_block, depth_of(chunk) - k), true, dense},
                        slot + square * panel_bytes() + block * dfp16_block_bytes,
                        scales(slot + row_scales_at_, square, block));
  }

  std::int64_t multiply(const Matrix& matrix, std::int64_t chunk, std::int64_t task,
                        std::byte* slot) const {
    const std::int64_t row_block = task / column_blocks_, column_block = task % column_blocks_;
    const std::int64_t begin = row_block * row_block_;
    const std::int64_t end = std::min(begin + row_block_, all_.m);
    pack_rows(matrix, chunk, begin, end, slot);
    std::int64_t flushed = 0;
    for (std::int64_t panel = panels() * column_block / column_blocks_;
         panel < panels() * (column_block + 1) / column_blocks_; ++panel) {
      float* const sums =
          chunks_ > 1
              ? reinterpret_cast<float*>(matrix.memory + partial_at_ +
                                         (panel * row_blocks_ + row_block) * squares() * sums_bytes)
              : reinterpret_cast<float*>(slot + sums_at_);
      if (chunk == 0) begin_sums(matrix, panel, ceil_divide(end - begin, dfp16_square), sums);
      flushed += multiply_panel(matrix, chunk, {panel, begin, end}, slot, sums);
    }
    return flushed;
  }

  struct Place {
    std::int64_t panel, begin, end;
  };

  std::int64_t multiply_panel(const Matrix& matrix, std::int64_t chunk, const Place& place,
                              std::byte* slot, float* sums) const {
    const std::int64_t depth = depth_of(chunk), column = place.panel * dfp16_square;
    amx::Dfp16Strip strip{};
    strip.a_step = panel_bytes();
    strip.a_scales_step = blocks() * dfp16_block_scales;
    strip.squares = ceil_divide(place.end - place.begin, dfp16_square);
    strip.sums = sums;
    strip.sums_step = sums_bytes / 4;
    strip.pitch = all_.y_row;
    strip.rows = place.end - place.begin;
    strip.columns = std::min(dfp16_square, all_.n - column);
    strip.dtype = views_.y.dtype;
    std::int64_t flushed = 0;
    for (std::int64_t k = 0, block = 0; k < depth; k += pair_block, ++block) {
      strip.a = slot + block * dfp16_block_bytes;
      strip.a_scales = scales(slot + row_scales_at_, 0, block);
      strip.b = matrix.memory + place.panel * panel_bytes() + block * dfp16_block_bytes;
      strip.b_scales = scales(matrix.memory + scales_at_, place.panel, block);
      strip.steps = ceil_divide(std::min(pair_block, depth - k), dfp16_step);
      if (chunk + 1 == chunks_ && k + pair_block >= depth)
        strip.y = at_offset(matrix.y, strip.dtype, place.begin * all_.y_row + column);
      flushed += amx::dfp16_multiply(strip);
    }
    return flushed;
  }

  void begin_sums(const Matrix& matrix, std::int64_t panel, std::int64_t squares,
                  float* sums) const {
    if (!matrix.bias) {
      std::memset(sums, 0, static_cast<std::size_t>(squares * sums_bytes));
      return;
    }
    for (std::int64_t r = 0; r < squares * dfp16_square; ++r)
      std::memcpy(sums + r * dfp16_square, matrix.bias + panel * dfp16_square,
                  sizeof(float) * dfp16_square);
  }

  MatMulViews views_;
  Matrices all_;
  std::int64_t depth_, chunks_;  // of what is packed at a time
  std::int64_t batch_workers_ = 1, workers_ = 1;
  std::int64_t row_block_ = 0, row_blocks_ = 0, column_blocks_ = 1;
  // Memory holds the bias; for each matrix at work the packed b, its scales and the sums between
  // chunks; and for each thread a slot of packed rows, their scales and sums.
  std::int64_t bias_bytes_ = 0, matrix_bytes_ = 0;
  std::int64_t scales_at_ = 0, partial_at_ = 0, slots_at_ = 0;
  std::int64_t row_scales_at_ = 0, sums_at_ = 0, slot_bytes_ = 0;
};

}  // namespace

Prepared prepare_dfp16_tiles(const MatMulViews& views, int threads) {
  auto product = std::make_shared<const TileProduct>(views, threads);
  return {"dfp16, amx",
          product->workspace(),
          [product](const Call& call) { product->run(call); },
          {.isa = Isa::amx, .way = Math::dfp16}};
}

}  // namespace narrowgauge::cpu
