// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/machine/cpu.h"
#include "kernels/cpu/contraction/matrix_operands.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "kernels/cpu/pairs/pair_unit.h"
#include "kernels/cpu/pairs/pair_work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t least = 32;         // columns, and values of a sum, that are worth packing
constexpr std::int64_t least_rows = 16;    // that are worth packing b
constexpr std::int64_t pair_depth = 4096;  // packed at a time
constexpr std::int64_t pair_row_block_bytes = 512 << 10;  // of packed rows: a quarter of L2
constexpr std::int64_t matmul_tasks = 16;
constexpr std::int64_t panels_in_group = 8;

class Product {
 public:
  Product(const PairUnit& unit, const MatMulViews& views, int threads)
      : unit_(unit),
        views_(views),
        all_(matrices_of(views)),
        a_rows_(all_.a_depth == 1 || all_.k == 1),
        b_rows_(all_.b_column != 1 && all_.n != 1),
        depth_(std::min(all_.k, pair_depth)),
        chunks_(ceil_divide(all_.k, pair_depth)) {
    const std::int64_t batch = all_.count();
    batch_workers_ = batch >= 2 * threads ? threads : 1;
    workers_ = batch_workers_ > 1 ? 1 : threads;
    row_block_ = choose_row_block();
    row_blocks_ = ceil_divide(all_.m, row_block_);
    if (workers_ > 1)
      column_blocks_ = std::clamp<std::int64_t>(matmul_tasks / row_blocks_, 1, panels());
    steps_ = steps_of(depth_);
    last_steps_ = steps_of(depth_of(chunks_ - 1));
    place_parts();
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  std::int64_t workspace() const { return bias_bytes_ + batch_workers_ * matrix_bytes_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    if (views_.bias)
      pair_load_bias(*views_.bias, call.inputs[2], bias_bytes_ / 4,
                     reinterpret_cast<float*>(memory));
    FlushedCount flushed;
    hand_out(all_.count(), batch_workers_, [&](std::int64_t index, std::int64_t worker) {
      const Matrices::Offsets at = all_.at(index);
      const Matrix matrix{at_offset(call.inputs[0], views_.a.dtype, at.a),
                          at_offset(call.inputs[1], views_.b.dtype, at.b),
                          at_offset(call.outputs[0], views_.y.dtype, at.y),
                          views_.bias ? reinterpret_cast<const float*>(memory) : nullptr,
                          memory + bias_bytes_ + worker * matrix_bytes_};
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
        pack_columns(matrix, chunk);
        hand_out(row_blocks_ * column_blocks_, workers_, [&](std::int64_t task, std::int64_t slot) {
          flushed.add(multiply(matrix, chunk, task, slot));
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

  std::int64_t panels() const { return ceil_divide(all_.n, pair_columns); }
  std::int64_t blocks() const { return ceil_divide(depth_, pair_block); }
  bool is_wide(std::int64_t panel) const {
    return all_.n - panel * pair_columns > pair_columns / 2;
  }

  std::int64_t choose_row_block() const {
    const std::int64_t fitting = pair_row_block_bytes / (2 * depth_);
    const std::int64_t blocks = std::max(ceil_divide(all_.m, std::max<std::int64_t>(fitting, 56)),
                                         workers_ > 1 ? std::min(all_.m / 56, matmul_tasks) : 1);
    return round_up(ceil_divide(all_.m, std::max<std::int64_t>(blocks, 1)), 2 * pair_panel);
  }

  void place_parts() {
    panel_bytes_ = round_up(depth_, 32) * 2 * pair_columns;
    column_scales_at_ = panels() * panel_bytes_;
    partial_at_ = column_scales_at_ + panels() * blocks() * pair_columns * 4;
    const std::int64_t partial =
        chunks_ > 1 ? ceil_divide(all_.m, pair_panel) * panels() * pair_sums * 4 : 0;
    slots_at_ = partial_at_ + round_up(partial, 64);
    const std::int64_t row_panels = row_block_ / pair_panel;
    row_panel_bytes_ = round_up(ceil_divide(depth_, 2) * 64, 128) + 64;
    row_scales_at_ = a_rows_ ? row_block_ * pair_row_bytes(depth_) : row_panels * row_panel_bytes_;
    const std::int64_t scales =
        a_rows_ ? row_block_ * blocks() * 4 : row_panels * blocks() * 16 * 4;
    scratch_at_ = row_scales_at_ + round_up(scales, 64);
    const std::int64_t scratch =
        b_rows_ ? pair_columns * (round_up(depth_, 32) * 2 + blocks() * 4) : 0;
    slot_bytes_ = round_up(scratch_at_ + scratch, 64);
    matrix_bytes_ = slots_at_ + workers_ * slot_bytes_;
    bias_bytes_ = views_.bias ? panels() * pair_columns * 4 : 0;
    pitch_ = a_rows_ ? pair_row_bytes(depth_) : 4;
  }

  std::int64_t depth_of(std::int64_t chunk) const {
    return std::min(pair_depth, all_.k - chunk * pair_depth);
  }
  float* column_scales(const Matrix& matrix, std::int64_t panel) const {
    return reinterpret_cast<float*>(matrix.memory + column_scales_at_) +
           panel * blocks() * pair_columns;
  }

  void pack_columns(const Matrix& matrix, std::int64_t chunk) const {
    const std::int64_t depth = depth_of(chunk);
    if (b_rows_) {
      hand_out(panels(), workers_, [&](std::int64_t panel, std::int64_t slot) {
        pack_panel(matrix, chunk, panel, matrix.memory + slots_at_ + slot * slot_bytes_);
      });
      return;
    }
    // Neighbouring panels share pages.
    const std::int64_t groups = ceil_divide(panels(), panels_in_group);
    hand_out(groups * ceil_divide(depth, pair_block), workers_,
             [&](std::int64_t task, std::int64_t) {
               const std::int64_t begin = task % groups * panels_in_group;
               for (std::int64_t panel = begin; panel < std::min(begin + panels_in_group, panels());
                    ++panel)
                 pack_block(matrix, chunk, panel, task / groups);
             });
  }

  void pack_panel(const Matrix& matrix, std::int64_t chunk, std::int64_t panel,
                  std::byte* slot) const {
    const std::int64_t column = panel * pair_columns;
    unit_.rows_as_columns(
        {at_offset(matrix.b, views_.b.dtype, chunk * pair_depth + column * all_.b_column),
         views_.b.dtype, all_.b_column},
        std::min(pair_columns, all_.n - column), depth_of(chunk),
        {matrix.memory + panel * panel_bytes_, column_scales(matrix, panel), is_wide(panel)},
        slot + scratch_at_);
  }

  void pack_block(const Matrix& matrix, std::int64_t chunk, std::int64_t panel,
                  std::int64_t block) const {
    const std::int64_t column = panel * pair_columns, k = block * pair_block;
    const bool wide = is_wide(panel);
    unit_.columns_block(
        {at_offset(matrix.b, views_.b.dtype, (chunk * pair_depth + k) * all_.b_depth + column),
         views_.b.dtype, all_.b_depth},
        std::min(pair_columns, all_.n - column), std::min(pair_block, depth_of(chunk) - k),
        {matrix.memory + panel * panel_bytes_ + k / 2 * (wide ? 128 : 64),
         column_scales(matrix, panel) + block * pair_columns, wide});
  }

  // Packs rows [begin, end) into a slot.
  void pack_rows(const Matrix& matrix, std::int64_t chunk, std::int64_t begin, std::int64_t end,
                 std::byte* slot) const {
    const DType dtype = views_.a.dtype;
    const std::int64_t depth = depth_of(chunk), rows = end - begin;
    auto* const scales = reinterpret_cast<float*>(slot + row_scales_at_);
    const void* const from =
        at_offset(matrix.a, dtype, chunk * pair_depth * all_.a_depth + begin * all_.a_row);
    if (a_rows_)
      return unit_.rows({from, dtype, all_.a_row}, rows, depth,
                        {slot, pair_row_bytes(depth_), scales});
    for (std::int64_t k = 0, block = 0; k < depth; k += pair_block, ++block)
      for (std::int64_t row = 0; row < rows; row += 2 * pair_panel) {
        const std::int64_t panel = row / pair_panel;
        unit_.panels_block({at_offset(from, dtype, k * all_.a_depth + row), dtype, all_.a_depth},
                           std::min(2 * pair_panel, rows - row), std::min(pair_block, depth - k),
                           {slot + panel * row_panel_bytes_ + k / 2 * 64, row_panel_bytes_,
                            scales + (panel * blocks() + block) * 16, blocks() * 16});
      }
  }

  std::int64_t multiply(const Matrix& matrix, std::int64_t chunk, std::int64_t task,
                        std::int64_t slot_index) const {
    std::byte* const slot = matrix.memory + slots_at_ + slot_index * slot_bytes_;
    const std::int64_t begin = task / column_blocks_ * row_block_;
    const std::int64_t end = std::min(begin + row_block_, all_.m);
    pack_rows(matrix, chunk, begin, end, slot);
    const std::int64_t block = task % column_blocks_;
    std::int64_t flushed = 0;
    for (std::int64_t panel = panels() * block / column_blocks_;
         panel < panels() * (block + 1) / column_blocks_; ++panel)
      for (std::int64_t row = begin; row < end; row += pair_panel)
        flushed += multiply_tile(matrix, chunk,
                                 {.panel = panel,
                                  .first_row = begin,
                                  .row = row - begin,
                                  .rows = std::min(end - row, pair_panel)},
                                 slot);
    return flushed;
  }

  struct Place {
    std::int64_t panel, first_row, row, rows;  // row: within the block
  };

  std::vector<PairStep> steps_of(std::int64_t depth) const {
    std::vector<PairStep> steps;
    for (std::int64_t k = 0, block = 0; k < depth; k += pair_block, ++block)
      steps.push_back({a_rows_ ? k * 2 : k / 2 * 64, a_rows_ ? block : block * 16,
                       static_cast<std::int32_t>(ceil_divide(std::min(pair_block, depth - k), 2)),
                       true});
    return steps;
  }

  std::int64_t multiply_tile(const Matrix& matrix, std::int64_t chunk, const Place& place,
                             const std::byte* slot) const {
    const bool last = chunk + 1 == chunks_;
    const std::vector<PairStep>& steps = last ? last_steps_ : steps_;
    const auto count = static_cast<std::int64_t>(steps.size());
    const PairProduct product{steps.data(), count, pitch_, a_rows_ ? 4 : 64, a_rows_ ? count : 1};
    const std::int64_t half = ceil_divide(place.rows, 2), second = place.rows - half;
    const std::int64_t panel = place.row / pair_panel;
    const std::byte* const a = slot + (a_rows_ ? place.row * pitch_ : panel * row_panel_bytes_);
    const float* const a_scale = reinterpret_cast<const float*>(slot + row_scales_at_) +
                                 (a_rows_ ? place.row * count : panel * blocks() * 16);
    const std::int64_t row = place.first_row + place.row;
    alignas(64) float tile_sums[pair_sums];
    float* const sums = chunks_ == 1 ? tile_sums
                                     : reinterpret_cast<float*>(matrix.memory + partial_at_) +
                                           (row / pair_panel * panels() + place.panel) * pair_sums;
    if (chunk == 0 && matrix.bias) begin_sums(matrix, place.panel, sums);
    unit_.kernel(half, is_wide(place.panel))(product,
                                             {{a, a + second * pitch_},
                                              {a_scale, a_scale + second * product.scale_pitch},
                                              matrix.memory + place.panel * panel_bytes_,
                                              column_scales(matrix, place.panel),
                                              sums,
                                              chunk == 0 && !matrix.bias});
    if (!last) return 0;
    const DType dtype = views_.y.dtype;
    const std::int64_t column = place.panel * pair_columns;
    void* const y = at_offset(matrix.y, dtype, row * all_.y_row + column);
    return unit_.store({{y, at_offset(y, dtype, second * all_.y_row)},
                        all_.y_row,
                        dtype,
                        {0, half - second},
                        std::min(pair_columns, all_.n - column)},
                       half, sums);
  }

  static void begin_sums(const Matrix& matrix, std::int64_t panel, float* sums) {
    for (std::int64_t r = 0; r < 2 * pair_half; ++r)
      std::memcpy(sums + r * pair_columns, matrix.bias + panel * pair_columns,
                  sizeof(float) * pair_columns);
  }

  const PairUnit& unit_;
  MatMulViews views_;
  Matrices all_;
  bool a_rows_, b_rows_;         // the values of a sum lie next to each other
  std::int64_t depth_, chunks_;  // of what is packed at a time
  std::int64_t batch_workers_ = 1, workers_ = 1;
  std::int64_t row_block_ = 0, row_blocks_ = 0, column_blocks_ = 1;
  std::vector<PairStep> steps_, last_steps_;
  std::int64_t pitch_ = 0;
  // Memory holds the bias; for each matrix at work the packed b with its scales and the sums
  // between chunks; and for each thread a slot of packed rows, their scales and room to pack b.
  std::int64_t bias_bytes_ = 0, matrix_bytes_ = 0, panel_bytes_ = 0, row_panel_bytes_ = 0;
  std::int64_t column_scales_at_ = 0, partial_at_ = 0, slots_at_ = 0;
  std::int64_t row_scales_at_ = 0, scratch_at_ = 0, slot_bytes_ = 0;
};

std::string matmul_layout_reason(const Matrices& all) {
  if (all.a_depth != 1 && all.a_row != 1 && all.m > 1) return "no axis of a is dense";
  if (all.b_column != 1 && all.b_depth != 1) return "no axis of b is dense";
  if (all.y_row < all.n && all.m > 1) return "rows of y overlap";
  return {};
}

std::string matmul_shape_reason(const MatMulViews& views) {
  if (element_count(views.y.dims) == 0) return "y is empty";
  const Matrices all = matrices_of(views);
  if (all.k < least || all.n < least || all.m < least_rows)
    return concat(all.m, " x ", all.k, " x ", all.n, " is too small");
  if (views.y.strides.back() != 1) return "y lies by columns";
  return matmul_layout_reason(all);
}

}  // namespace

std::string pair_matmul_reason(PairFormat format, const MatMulViews& views, Isa isa) {
  std::string reason = pair_format_reason(format, {&views.a, &views.b}, views.y, isa);
  if (!reason.empty()) return reason;
  reason = matmul_shape_reason(views);
  return reason.empty() ? reason : concat(name(format), ": ", reason);
}

Prepared prepare_pair_matmul(PairFormat format, const MatMulViews& views,
                             const ContractionOptions& options) {
  const std::string reason = pair_matmul_reason(format, views, isa());
  require(reason.empty(), "matmul: ", reason);
  const int threads = options.threads == 0 ? thread_count() : options.threads;
  if (isa() >= Isa::amx) return prepare_dfp16_tiles(views, threads);
  const PairUnit& unit = pair_unit(format);
  auto product = std::make_shared<const Product>(unit, views, threads);
  return {std::string(unit.implementation), product->workspace(),
          [product](const Call& call) { product->run(call); }, unit.facts};
}

}  // namespace narrowgauge::cpu
