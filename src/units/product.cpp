// SPDX-License-Identifier: Apache-2.0
#include "units/product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "narrowgauge/error.h"
#include "narrowgauge/matrix_unit_arithmetic.h"
#include "units/chains.h"
#include "units/cut_sums.h"

namespace narrowgauge::sim {

namespace {

constexpr std::int64_t panel = PackedColumns::panel;
constexpr std::int64_t block_rows = 4;
static_assert(block_rows == cut_rows && block_rows == chain_rows);

Way way_of(const UnitModel& model) {
  switch (model.summation) {
    case Summation::truncated:
      return isa() >= Isa::avx512 ? Way::cut_sums : Way::scalar;
    case Summation::fma_chain:
      return model.result == UnitFormat::f32 ? Way::chains : Way::scalar;
    case Summation::even_and_odd:
    case Summation::odd_then_even:
      return Way::chains;
    case Summation::integer:
      return Way::integers;
    default:
      return Way::scalar;
  }
}

bool flushes_subnormals(const UnitModel& model) {
  return model.summation == Summation::even_and_odd || model.summation == Summation::odd_then_even;
}

}  // namespace

PackedColumns::PackedColumns(const UnitModel& model, std::int64_t columns, std::int64_t depth,
                             const Elements& b)
    : way_(way_of(model)), elements_(b), columns_(columns), depth_(depth) {
  if (way_ == Way::scalar) return;
  const std::int64_t padded = (columns + panel - 1) / panel * panel;
  first_ = Numbers(padded * depth);
  finite_ = IndexedVector<std::int64_t, char>(padded, 1);
  if (way_ == Way::cut_sums) second_ = Numbers(padded * depth, exponent_of_zero);
  parallel_for(columns, panel, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin; column < end; ++column) pack(column);
  });
}

void PackedColumns::pack(std::int64_t column) {
  const std::int64_t start = column / panel * panel * depth_ + column % panel;
  if (way_ == Way::cut_sums)
    finite_[column] = split_line(elements_, column, depth_,
                                 {first_.data() + start, second_.data() + start, panel});
  else
    widen_line(elements_, column, depth_, first_.data() + start, panel);
}

namespace {

class Multiplication {
 public:
  Multiplication(const UnitModel& model, const Elements& a, const PackedColumns& b,
                 const ResultRows& c, const ResultRows& d)
      : model_(model), a_(a), b_(b), c_(c), d_(d) {}

  void piece(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    const FloatMode mode(flushes_subnormals(model_));
    if (b_.way() == Way::scalar) return scalar_piece(row, rows, column, columns);
    for (std::int64_t r = row; r < row + rows; r += block_rows)
      block_piece(r, std::min(block_rows, row + rows - r), column, columns);
  }

 private:
  // The bits of c; 0 if there is none.
  std::uint64_t read_c(std::int64_t row, std::int64_t column) const {
    if (!c_.data) return 0;
    const Elements c{model_.result, c_.data, c_.row_stride, 1, nullptr, 0};
    return element_bits(c, row, column);
  }
  void write_d(std::int64_t row, std::int64_t column, std::uint64_t bits) const {
    const int bytes = element_bytes(model_.result);
    std::memcpy(static_cast<std::byte*>(d_.data) + (row * d_.row_stride + column) * bytes, &bits,
                static_cast<std::size_t>(bytes));  // little-endian: the low bytes come first
  }

  std::size_t scale_count() const {
    const std::int64_t block = block_size(a_.format);
    return block ? static_cast<std::size_t>((b_.depth() + block - 1) / block) : 0;
  }

  struct Line {
    std::vector<Unpacked> values, scales;
  };
  Line unpacked(const Elements& elements, std::int64_t line) const {
    Line result{std::vector<Unpacked>(static_cast<std::size_t>(b_.depth())),
                std::vector<Unpacked>(scale_count())};
    unpack_line(elements, line, result.values);
    unpack_scales(elements, line, result.scales);
    return result;
  }
  void scalar(std::int64_t row, const Line& a, std::int64_t column, const Line& b) const {
    write_d(row, column,
            dot_product_add(model_, a.values, b.values, read_c(row, column), {a.scales, b.scales}));
  }

  void scalar_piece(std::int64_t row, std::int64_t rows, std::int64_t column,
                    std::int64_t columns) const {
    std::vector<Line> lines;
    for (std::int64_t r = row; r < row + rows; ++r) lines.push_back(unpacked(a_, r));
    for (std::int64_t j = column; j < column + columns; ++j) {
      const Line b = unpacked(b_.elements(), j);
      for (std::int64_t r = row; const Line& a : lines) scalar(r++, a, j, b);
    }
  }

  void block_piece(std::int64_t row, std::int64_t rows, std::int64_t column,
                   std::int64_t columns) const {
    const auto depth = static_cast<std::size_t>(b_.depth());
    std::vector<float> first(depth * block_rows), second(depth * block_rows, exponent_of_zero);
    std::array<bool, block_rows> finite{true, true, true, true};
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      const auto line = row + static_cast<std::int64_t>(r);
      if (b_.way() == Way::cut_sums)
        finite[r] = split_line(a_, line, b_.depth(),
                               {first.data() + r * depth, second.data() + r * depth, 1});
      else
        widen_line(a_, line, b_.depth(), first.data() + r * depth, 1);
    }
    for (std::int64_t j = column; j < column + columns; j += panel) {
      const std::int64_t width = std::min(panel, column + columns - j);
      if (b_.way() == Way::integers)
        integer_block(row, rows, j, width, first.data());
      else
        float_block(row, rows, j, width, first.data(), second.data());
    }
    if (b_.way() == Way::cut_sums) mend(row, rows, column, columns, finite);
  }

  // Computes again what an element that is not finite reaches.
  void mend(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
            const std::array<bool, block_rows>& finite) const {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = column; j < column + columns; ++j)
        if (!finite[static_cast<std::size_t>(r)] || !b_.is_finite(j))
          scalar(row + r, unpacked(a_, row + r), j, unpacked(b_.elements(), j));
  }

  void float_block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t width,
                   const float* first, const float* second) const {
    alignas(64) float sums[block_rows * panel] = {};
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < width; ++j) sums[r * panel + j] = load_c(row + r, column + j);
    if (b_.way() == Way::cut_sums)
      avx512::add_cut_sums(
          {model_, b_.depth(), first, second, b_.first(column), b_.second(column), sums});
    else
      add_chains({model_, b_.depth(), first, b_.first(column)}, sums);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < width; ++j) store_d(row + r, column + j, sums[r * panel + j]);
  }

  float load_c(std::int64_t row, std::int64_t column) const {
    return static_cast<float>(unpack(model_.result, read_c(row, column)).value);
  }
  void store_d(std::int64_t row, std::int64_t column, float sum) const {
    namespace unit = matrix_unit_arithmetic;
    std::uint64_t bits = std::bit_cast<std::uint32_t>(sum);
    if (model_.result == UnitFormat::f16)
      bits = std::isfinite(sum) ? unit::nearest(UnitFormat::f16, static_cast<double>(sum))
                                : unit::special_bits(UnitFormat::f16, static_cast<double>(sum));
    else if (std::isnan(sum))
      bits = b_.way() == Way::chains ? unit::nan_f32 : unit::gpu_nan_f32;
    write_d(row, column, bits);
  }

  void integer_block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t width,
                     const float* values) const {
    std::uint32_t sums[block_rows * panel] = {};
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < width; ++j)
        sums[r * panel + j] = static_cast<std::uint32_t>(read_c(row + r, column + j));
    add_integers({model_, b_.depth(), values, b_.first(column)}, sums);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < width; ++j) write_d(row + r, column + j, sums[r * panel + j]);
  }

  const UnitModel& model_;
  const Elements& a_;
  const PackedColumns& b_;
  ResultRows c_, d_;
};

}  // namespace

void multiply(const UnitModel& model, std::int64_t rows, const Elements& a, const PackedColumns& b,
              const ResultRows& c, const ResultRows& d) {
  const Multiplication product(model, a, b, c, d);
  constexpr std::int64_t piece_rows = 16, piece_columns = 128;
  const std::int64_t across = (b.columns() + piece_columns - 1) / piece_columns;
  const std::int64_t down = (rows + piece_rows - 1) / piece_rows;
  parallel_for(across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / across * piece_rows, column = i % across * piece_columns;
      product.piece(row, std::min(piece_rows, rows - row), column,
                    std::min(piece_columns, b.columns() - column));
    }
  });
}

}  // namespace narrowgauge::sim
