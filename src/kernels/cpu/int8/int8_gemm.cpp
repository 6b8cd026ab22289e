// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8/int8_gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/matmul_operands.h"
#include "kernels/cpu/contraction/matrix_operands.h"
#include "kernels/cpu/int8/int8_terms.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t most_gemm_steps = 128;        // of a sum, packed at a time
constexpr std::int64_t row_block_bytes = 640 << 10;  // of packed rows: a part of L2
constexpr std::int64_t most_column_block = 16;       // panels whose sums wait for the next chunk
constexpr std::int64_t panels_together = 8;
constexpr std::int64_t gemm_tasks = 8;
constexpr std::int64_t stream_bytes = 512 << 10;  // larger results go past the caches

MatMulViews views_of(const Int8Operands& operands) {
  return {operands.a, operands.b, operands.y, {}};
}

// Packed columns of one matrix b, and their sums.
struct Columns {
  std::byte* panels;
  std::int32_t* sums;
};

// Memory holds the terms; for each matrix at work the columns with their factors and terms; and for
// each thread a slot: rows, their sums and terms, and squares of sums.
class Int8Product {
 public:
  Int8Product(const Int8Operands& operands, const Int8Quantities& quantities, int threads)
      : kernels_(int8_kernels()),
        operands_(operands),
        all_(matrices_of(views_of(operands))),
        terms_(operands, quantities, {1, all_.m, all_.n, all_.k}) {
    batch_workers_ = all_.count() >= 2 * threads ? threads : 1;
    workers_ = batch_workers_ > 1 ? 1 : threads;
    choose();
    place_memory();
    if (operands.b_constant && !has_several_b()) {
      constant_ = Tensor(DType::u8, {columns_bytes()});
      pack_columns(static_cast<const std::uint8_t*>(operands.b_constant),
                   columns_at(constant_->data()), true);
    }
  }
  Int8Product(const Int8Product&) = delete;
  Int8Product& operator=(const Int8Product&) = delete;

  std::int64_t workspace() const { return terms_bytes_ + batch_workers_ * matrix_bytes_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const Int8Terms terms = terms_.load(call, memory);
    hand_out(all_.count(), batch_workers_, [&](std::int64_t index, std::int64_t worker) {
      const Matrices::Offsets at = all_.at(index);
      std::byte* const own = memory + terms_bytes_ + worker * matrix_bytes_;
      const std::int64_t element = bits(operands_.y.dtype) / 8;
      multiply({static_cast<const std::uint8_t*>(call.inputs[0]) + at.a,
                static_cast<const std::uint8_t*>(call.inputs[1]) + at.b,
                static_cast<std::byte*>(call.outputs[0]) + at.y * element, own, &terms,
                columns_at(constant_ ? const_cast<std::byte*>(constant_->data()) : own)});
    });
  }

 private:
  struct Matrix {
    const std::uint8_t *a, *b;
    std::byte *y, *memory;
    const Int8Terms* terms;
    Columns columns;
  };
  // A task: rows [begin, end) and panels [first, last).
  struct Task {
    std::int64_t begin, end, first, last;
    std::int64_t squares() const { return ceil_divide(end - begin, int8_square); }
  };
  struct Slot {
    std::byte* rows;
    std::int32_t *row_sums, *row_terms, *sums;
  };

  std::int64_t panels() const { return ceil_divide(all_.n, int8_square); }
  std::int64_t steps() const { return ceil_divide(all_.k, int8_step); }
  std::int64_t panel_bytes() const { return steps() * int8_step_bytes; }
  std::int64_t columns_bytes() const { return panels() * (panel_bytes() + int8_square * 4); }
  bool has_several_b() const {
    return std::any_of(all_.batch.begin(), all_.batch.end(),
                       [](const Matrices::Axis& axis) { return axis.b != 0; });
  }
  Columns columns_at(std::byte* memory) const {
    return {memory, reinterpret_cast<std::int32_t*>(memory + panels() * panel_bytes())};
  }

  void choose() {
    chunk_ = ceil_divide(steps(), ceil_divide(steps(), most_gemm_steps));
    const std::int64_t squares = ceil_divide(all_.m, int8_square);
    const std::int64_t fitting =
        std::max<std::int64_t>(row_block_bytes / (chunk_ * int8_step_bytes), 1);
    const std::int64_t wanted = workers_ > 1 ? std::min(gemm_tasks, squares / 4) : 1;
    const std::int64_t blocks = std::max({ceil_divide(squares, fitting), wanted, std::int64_t{1}});
    row_squares_ = ceil_divide(squares, blocks);
    row_blocks_ = ceil_divide(squares, row_squares_);
    const std::int64_t parts =
        workers_ > 1 ? std::clamp<std::int64_t>(gemm_tasks / row_blocks_, 1, panels()) : 1;
    column_panels_ = ceil_divide(panels(), parts);
    if (chunk_ < steps()) column_panels_ = std::min(column_panels_, most_column_block);
    column_blocks_ = ceil_divide(panels(), column_panels_);
    const std::int64_t tasks = row_blocks_ * column_blocks_;
    workers_ = std::min(workers_, tasks);
  }

  void place_memory() {
    terms_bytes_ = round_up(terms_.bytes(), 64);
    column_terms_at_ = constant_columns() ? 0 : round_up(columns_bytes(), 64);
    slots_at_ = column_terms_at_ + 2 * panels() * int8_square * 4;
    row_sums_at_ = row_squares_ * chunk_ * int8_step_bytes;
    sums_at_ = row_sums_at_ + 2 * row_squares_ * int8_square * 4;
    const std::int64_t waiting = chunk_ < steps() ? column_panels_ : 1;
    slot_bytes_ = sums_at_ + row_squares_ * waiting * int8_square_bytes;
    matrix_bytes_ = slots_at_ + workers_ * slot_bytes_;
  }
  bool constant_columns() const { return operands_.b_constant && !has_several_b(); }

  std::int32_t* column_factors(const Matrix& matrix) const {
    return reinterpret_cast<std::int32_t*>(matrix.memory + column_terms_at_);
  }
  std::int32_t* column_terms(const Matrix& matrix) const {
    return column_factors(matrix) + panels() * int8_square;
  }
  Slot slot_at(const Matrix& matrix, std::int64_t slot) const {
    std::byte* const memory = matrix.memory + slots_at_ + slot * slot_bytes_;
    auto* const sums = reinterpret_cast<std::int32_t*>(memory + row_sums_at_);
    return {memory, sums, sums + row_squares_ * int8_square,
            reinterpret_cast<std::int32_t*>(memory + sums_at_)};
  }

  // Neighbouring panels share pages if sums run across rows of b.
  void pack_columns(const std::uint8_t* b, const Columns& to, bool with_sums) const {
    const std::int64_t together = all_.b_column == 1 ? panels_together : 1;
    std::fill_n(to.sums, panels() * int8_square, 0);
    hand_out(ceil_divide(panels(), together), workers_, [&](std::int64_t group, std::int64_t) {
      const std::int64_t first = group * together, last = std::min(first + together, panels());
      const std::int64_t part = together > 1 ? int8_step : round_up(all_.k, int8_step);
      for (std::int64_t k = 0; k < all_.k; k += part)
        for (std::int64_t panel = first; panel < last; ++panel)
          pack_panel(b, panel, {k, std::min(part, all_.k - k)}, to, with_sums);
    });
  }

  struct Depth {
    std::int64_t begin, count;
  };
  void pack_panel(const std::uint8_t* b, std::int64_t panel, const Depth& k, const Columns& to,
                  bool with_sums) const {
    const std::int64_t column = panel * int8_square;
    kernels_.pack({b + column * all_.b_column + k.begin * all_.b_depth,
                   std::min(int8_square, all_.n - column), k.count, all_.b_column, all_.b_depth},
                  terms_.columns(),
                  to.panels + panel * panel_bytes() + k.begin / int8_step * int8_step_bytes,
                  with_sums ? to.sums + column : nullptr);
  }

  void multiply(const Matrix& matrix) const {
    const Int8Terms& terms = *matrix.terms;
    if (!constant_) pack_columns(matrix.b, matrix.columns, terms.needs_column_sums);
    const std::int64_t columns = panels() * int8_square;
    std::copy_n(matrix.columns.sums, columns, column_factors(matrix));
    terms.column_terms(0, columns, column_factors(matrix), column_terms(matrix));
    hand_out(row_blocks_ * column_blocks_, workers_, [&](std::int64_t index, std::int64_t slot) {
      const std::int64_t begin = index / column_blocks_ * row_squares_ * int8_square;
      const std::int64_t first = index % column_blocks_ * column_panels_;
      run_task(matrix,
               {begin, std::min(begin + row_squares_ * int8_square, all_.m), first,
                std::min(first + column_panels_, panels())},
               slot_at(matrix, slot));
    });
  }

  void run_task(const Matrix& matrix, const Task& task, const Slot& slot) const {
    std::fill_n(slot.row_sums, task.squares() * int8_square, 0);
    for (std::int64_t step = 0; step < steps(); step += chunk_) {
      pack_rows(matrix, task, step, slot);
      const bool last = step + chunk_ >= steps();
      if (last)
        matrix.terms->row_terms(task.begin, task.squares() * int8_square, slot.row_sums,
                                slot.row_terms);
      for (std::int64_t panel = task.first; panel < task.last; ++panel) {
        Int8Strip strip = strip_of(matrix, task, panel, step, slot);
        const Int8Finish::Piece piece{mask_of(panel), 0};
        const Int8Finish finish = finish_of(matrix, task, panel, piece, slot);
        strip.last = last ? &finish : nullptr;
        int8_multiply_runs(kernels_, strip, matrix.columns.panels + panels() * panel_bytes());
      }
    }
  }

  void pack_rows(const Matrix& matrix, const Task& task, std::int64_t step,
                 const Slot& slot) const {
    const std::int64_t k = step * int8_step, depth = std::min(chunk_ * int8_step, all_.k - k);
    const Int8Form form = terms_.rows();
    for (std::int64_t row = task.begin, at = 0; row < task.end; row += int8_square, ++at)
      kernels_.pack({matrix.a + row * all_.a_row + k * all_.a_depth,
                     std::min(int8_square, task.end - row), depth, all_.a_row, all_.a_depth},
                    form, slot.rows + at * chunk_ * int8_step_bytes,
                    matrix.terms->needs_row_sums ? slot.row_sums + at * int8_square : nullptr);
  }

  Int8Strip strip_of(const Matrix& matrix, const Task& task, std::int64_t panel, std::int64_t step,
                     const Slot& slot) const {
    Int8Strip strip{};
    strip.a = slot.rows;
    strip.b = matrix.columns.panels + panel * panel_bytes() + step * int8_step_bytes;
    strip.a_step = chunk_ * int8_step_bytes;
    strip.squares = task.squares();
    strip.steps = std::min(chunk_, steps() - step);
    strip.a_signed = terms_.rows().is_signed;
    strip.b_signed = terms_.columns().is_signed;
    const std::int64_t waiting = chunk_ < steps() ? panel - task.first : 0;
    strip.sums = slot.sums + waiting * row_squares_ * int8_square_sums;
    strip.first = step == 0;
    return strip;
  }

  std::uint32_t mask_of(std::int64_t panel) const {
    const std::int64_t left = all_.n - panel * int8_square;
    return left >= int8_square ? ~std::uint32_t{0} : (std::uint32_t{1} << left) - 1;
  }

  Int8Finish finish_of(const Matrix& matrix, const Task& task, std::int64_t panel,
                       const Int8Finish::Piece& piece, const Slot& slot) const {
    const std::int64_t column = panel * int8_square, element = bits(operands_.y.dtype) / 8;
    Int8Finish finish = int8_finish(
        *matrix.terms, {task.begin, column, slot.row_sums, slot.row_terms,
                        column_factors(matrix) + column, column_terms(matrix) + column});
    finish.pieces = &piece;
    finish.piece_count = 1;
    finish.pitch = all_.y_row * element;
    finish.y = matrix.y + task.begin * finish.pitch + column * element;
    finish.rows = task.end - task.begin;
    finish.stream = element == 4 && ~piece.mask == 0 && finish.pitch % 64 == 0 &&
                    reinterpret_cast<std::uintptr_t>(finish.y) % 64 == 0 &&
                    all_.count() * all_.m * all_.n * element > stream_bytes;
    return finish;
  }

  const Int8Kernels& kernels_;
  Int8Operands operands_;
  Matrices all_;
  Int8TermsPlan terms_;
  std::optional<Tensor> constant_;
  std::int64_t batch_workers_ = 1, workers_ = 1;
  std::int64_t chunk_ = 0;  // steps that are packed at a time
  std::int64_t row_squares_ = 0, row_blocks_ = 0, column_panels_ = 0, column_blocks_ = 0;
  std::int64_t terms_bytes_ = 0, column_terms_at_ = 0, slots_at_ = 0;
  std::int64_t row_sums_at_ = 0, sums_at_ = 0, slot_bytes_ = 0, matrix_bytes_ = 0;
};

}  // namespace

std::string int8_matmul_reason(const Int8Operands& operands) {
  const auto& [a, b, y, a_constant, b_constant] = operands;
  if (!is_byte(a.dtype) || !is_byte(b.dtype))
    return concat("operands of ", a.dtype, " and ", b.dtype);
  if (!is_byte(y.dtype) && y.dtype != DType::i32) return concat("result of ", y.dtype);
  if (element_count(y.dims) == 0 || element_count(a.dims) == 0) return "nothing to compute";
  if (y.strides.back() != 1 && y.dims.back() != 1) return "neighbours of the result lie apart";
  return {};
}

Prepared prepare_int8_matmul(const Int8Operands& operands, const Int8Quantities& quantities,
                             int threads) {
  check_matmul_shapes(views_of(operands));
  const std::string reason = int8_matmul_reason(operands);
  require(reason.empty(), "int8 matmul: ", reason);
  const auto product = std::make_shared<const Int8Product>(operands, quantities,
                                                           threads > 0 ? threads : thread_count());
  return {std::string(int8_kernels().name),
          product->workspace(),
          [product](const Call& call) { product->run(call); },
          {.isa = int8_kernels().isa}};
}

}  // namespace narrowgauge::cpu
