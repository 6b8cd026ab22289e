// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/simulate.h"

#include <algorithm>
#include <cmath>

#include "base/machine/floating_environment.h"
#include "tensor/values.h"
#include "units/block_operand.h"
#include "units/product.h"

namespace narrowgauge {
namespace {

// Rows, columns and depth of one product, and how many there are.
struct ProductShape {
  std::int64_t count = 1, rows = 1, columns = 1, depth = 0;
  bool one_b = true;  // for all of them
};

ProductShape shape_of(const Dims& a, const Dims& b) {
  require(!a.empty() && !b.empty(), "matrix product: expected at least one dimension, got ", a,
          " and ", b);
  ProductShape shape;
  shape.depth = a.back();
  shape.one_b = b.size() <= 2;
  const std::int64_t b_depth = b.size() == 1 ? b[0] : b[b.size() - 2];
  require(shape.depth == b_depth, "matrix product: ", a, " has ", shape.depth,
          " elements in a row, ", b, " has ", b_depth, " in a column");
  if (b.size() > 1) shape.columns = b.back();
  const auto leading = [](const Dims& dims) {
    return Dims(dims.begin(), dims.end() - std::min<std::ptrdiff_t>(2, std::ssize(dims)));
  };
  if (a.size() > 1) shape.rows = a[a.size() - 2];
  shape.count = element_count(leading(a));
  require(shape.one_b || leading(a) == leading(b), "matrix product: the leading dimensions of ", a,
          " and ", b, " differ");
  if (shape.one_b) {
    shape.rows *= shape.count;
    shape.count = 1;
  }
  return shape;
}

void check_integers(const Tensor& operand, UnitFormat format) {
  double least = 0, most = 1;
  if (format == UnitFormat::s8 || format == UnitFormat::s4)
    least = format == UnitFormat::s8 ? -128 : -8;
  if (format != UnitFormat::b1)
    most = format == UnitFormat::u8 ? 255 : format == UnitFormat::u4 ? 15 : -least - 1;
  for (std::int64_t i = 0; i < operand.size(); ++i) {
    const double value = operand.at(i);
    require(value == std::floor(value) && value >= least && value <= most, "element ", i, " is ",
            value, ", expected whole numbers of ", least, " to ", most, " as ", name(format));
  }
}

Tensor to_format(const Tensor& operand, UnitFormat format, Tf32Rounding tf32) {
  if (format != UnitFormat::tf32) return operand.cast(element_dtype(format));
  Tensor result = operand.cast(DType::f32).clone();
  for (float& value : result.values<float>())
    value = tf32 == Tf32Rounding::nearest ? round_to_tf32(value) : truncate_to_tf32(value);
  return result;
}

// The values of these numbers after rounding to blocks, in f64.
Tensor block_values(const Tensor& operand, UnitFormat format, bool by_columns) {
  const BlockOperand blocks = block_operand(operand, format, by_columns);
  const Dims& dims = operand.dims();
  Tensor result(DType::f64, dims);
  double* const to = result.values<double>().data();
  const bool turned = by_columns && dims.size() > 1;
  const std::int64_t columns = turned ? dims.back() : 1;
  for (std::int64_t line = 0; line < blocks.lines; ++line)
    for (std::int64_t k = 0; k < blocks.depth; ++k) {
      const std::int64_t matrix = line / columns, column = line % columns;
      const std::int64_t at = (matrix * blocks.depth + k) * columns + column;
      to[at] = blocks.value(line, k);
    }
  return result;
}

// Both operands as the kernels take them.
class UnitOperands {
 public:
  UnitOperands(const UnitModel& unit, const Tensor& a, const Tensor& b)
      : unit_(unit), blocks_(is_block_format(unit.operand)) {
    if (blocks_) {
      a_blocks_ = block_operand(a, unit.operand, false);
      b_blocks_ = block_operand(b, unit.operand, true);
    } else {
      a_ = round_operand(a, unit.operand).values;
      b_ = round_operand(b, unit.operand).values;
    }
  }

  sim::Elements rows(std::int64_t first, std::int64_t depth) const {
    if (blocks_) return a_blocks_.elements(first);
    return {unit_.operand, a_.data() + bytes_for(first * depth, a_.dtype()), depth, 1};
  }
  // The elements of b for the matrix that begins with this column, counted over all matrices.
  sim::Elements columns(std::int64_t first, const ProductShape& shape) const {
    if (blocks_) return b_blocks_.elements(first);
    return {unit_.operand, b_.data() + bytes_for(first * shape.depth, b_.dtype()), 1,
            shape.columns};
  }
  // Products must be multiplied by this.
  float scale() const { return blocks_ ? a_blocks_.tensor_scale * b_blocks_.tensor_scale : 1; }

 private:
  const UnitModel& unit_;
  bool blocks_;
  Tensor a_, b_;
  BlockOperand a_blocks_, b_blocks_;
};

// d = scale * d + c in f32, as in the epilogue of a library's kernel.
void scale_and_add(Tensor& d, float scale, const Tensor* c) {
  const auto values = d.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= scale;
    if (c) values[i] += c->values<float>()[i];
  }
}

}  // namespace

DType element_dtype(UnitFormat format) {
  switch (format) {
    case UnitFormat::f64:
      return DType::f64;
    case UnitFormat::f32:
    case UnitFormat::tf32:
      return DType::f32;
    case UnitFormat::bf16:
      return DType::bf16;
    case UnitFormat::f16:
      return DType::f16;
    case UnitFormat::f8e4m3:
      return DType::f8e4m3fn;
    case UnitFormat::f8e5m2:
      return DType::f8e5m2;
    case UnitFormat::s8:
    case UnitFormat::s4:
      return DType::i8;
    case UnitFormat::u8:
    case UnitFormat::u4:
    case UnitFormat::b1:
      return DType::u8;
    case UnitFormat::s32:
      return DType::i32;
    default:
      throw UsageError(concat(name(format), ": its blocks have scales, which no dtype holds"));
  }
}

UnitFormat own_format(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return UnitFormat::f64;
    case DType::f16:
      return UnitFormat::f16;
    case DType::bf16:
      return UnitFormat::bf16;
    case DType::f8e4m3fn:
      return UnitFormat::f8e4m3;
    case DType::f8e5m2:
      return UnitFormat::f8e5m2;
    case DType::i8:
      return UnitFormat::s8;
    case DType::u8:
      return UnitFormat::u8;
    default:
      return UnitFormat::f32;
  }
}

RoundedOperand round_operand(const Tensor& operand, UnitFormat format, Tf32Rounding tf32,
                             bool by_columns) {
  const FloatingEnvironment environment(Subnormals::keep);
  require(is_floating(operand.dtype()) || is_integer(operand.dtype()) ||
              operand.dtype() == DType::boolean,
          "matrix product: ", operand.dtype(), " is not a number format of operands");
  if (format >= UnitFormat::s8) check_integers(operand, format);
  RoundedOperand result{is_block_format(format) ? block_values(operand, format, by_columns)
                                                : to_format(operand, format, tf32)};
  double worst = -1;
  for (std::int64_t i = 0; i < operand.size(); ++i) {
    const double before = operand.at(i), after = result.values.at(i);
    if (before == after || std::isnan(before)) continue;
    ++result.changed;
    if (std::isfinite(before) && !std::isfinite(after)) ++result.overflowed;
    if (after == 0) ++result.flushed;
    const double lost = std::fabs(after - before) / std::fabs(before);
    if (!(lost > worst)) continue;
    worst = lost;
    result.example = i;
  }
  return result;
}

Dims product_dims(const Dims& a, const Dims& b) {
  shape_of(a, b);
  Dims dims(a.begin(), a.end() - 1);
  if (b.size() > 1) dims.push_back(b.back());
  return dims;
}

Tensor simulate_product(const UnitModel& unit, const Tensor& a, const Tensor& b, const Tensor* c) {
  const FloatingEnvironment environment(Subnormals::keep);
  const ProductShape shape = shape_of(a.dims(), b.dims());
  const UnitOperands operands(unit, a, b);
  Tensor result(element_dtype(unit.result), product_dims(a.dims(), b.dims()));
  Tensor start;
  if (c) {
    require(c->dims() == result.dims(), "matrix product: expected c of ", result.dims(), ", got ",
            c->dims());
    start = c->cast(result.dtype());
  }
  const float scale = operands.scale();
  const bool from_c = c && scale == 1;
  for (std::int64_t i = 0; i < shape.count; ++i) {
    const std::int64_t first = bytes_for(i * shape.rows * shape.columns, result.dtype());
    const sim::PackedColumns columns(unit, shape.columns, shape.depth,
                                     operands.columns(i * shape.columns, shape));
    sim::multiply(unit, shape.rows, operands.rows(i * shape.rows, shape.depth), columns,
                  {from_c ? start.data() + first : nullptr, shape.columns},
                  {result.data() + first, shape.columns});
  }
  if (scale != 1) scale_and_add(result, scale, c ? &start : nullptr);
  return result;
}

}  // namespace narrowgauge
