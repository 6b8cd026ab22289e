// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/simulate.h"

#include <algorithm>
#include <cmath>

#include "kernels/sim/product.h"
#include "tensor/values.h"

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

bool is_block_format(UnitFormat format) { return block_size(format) != 0; }

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

RoundedOperand round_operand(const Tensor& operand, UnitFormat format, Tf32Rounding tf32) {
  require(is_floating(operand.dtype()) || is_integer(operand.dtype()) ||
              operand.dtype() == DType::boolean,
          "matrix product: ", operand.dtype(), " is not a number format of operands");
  if (format >= UnitFormat::s8) check_integers(operand, format);
  RoundedOperand result{to_format(operand, format, tf32)};
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
  require(!is_block_format(unit.operand), name(unit.operand),
          ": its operands have scales, which a product of plain tensors lacks");
  const ProductShape shape = shape_of(a.dims(), b.dims());
  const Tensor left = round_operand(a, unit.operand).values;
  const Tensor right = round_operand(b, unit.operand).values;
  Tensor result(element_dtype(unit.result), product_dims(a.dims(), b.dims()));
  Tensor start;
  if (c) {
    require(c->dims() == result.dims(), "matrix product: expected c of ", result.dims(), ", got ",
            c->dims());
    start = c->cast(result.dtype());
  }
  const auto part = [](const Tensor& tensor, std::int64_t element) {
    return tensor.data() + bytes_for(element, tensor.dtype());
  };
  for (std::int64_t i = 0; i < shape.count; ++i) {
    const std::int64_t first = i * shape.rows * shape.columns;
    const sim::Elements rows{unit.operand, part(left, i * shape.rows * shape.depth), shape.depth,
                             1};
    const sim::Elements columns{unit.operand, part(right, i * shape.depth * shape.columns), 1,
                                shape.columns};
    const sim::ResultRows to{result.data() + bytes_for(first, result.dtype()), shape.columns};
    const sim::ResultRows from{c ? start.data() + bytes_for(first, start.dtype()) : nullptr,
                               shape.columns};
    sim::multiply(unit, shape.rows, rows,
                  sim::PackedColumns(unit, shape.columns, shape.depth, columns), from, to);
  }
  return result;
}

}  // namespace narrowgauge
