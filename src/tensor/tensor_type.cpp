// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "narrowgauge/tensor.h"
#include "tensor/text_cursor.h"

namespace narrowgauge {
namespace {

Shape parse_shape(TextCursor& cursor, std::string_view list) {
  Shape shape;
  while (true) {
    const std::size_t comma = list.find(',');
    shape.push_back(Dim::parse(list.substr(0, comma)));
    const bool negative = shape.back().is_known() && shape.back().value() < 0;
    cursor.check(!negative, "dimensions that are not negative");
    if (comma == std::string_view::npos) return shape;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

void append_text(std::string& out, const TensorType& type) {
  append_text(out, type.dtype);
  append_text(out, type.shape);
}

bool is_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_known(); });
}

Dims known_dims(const Shape& shape) {
  require(is_known(shape), "shape: ", shape, " has unbound symbols, numbers are needed");
  Dims dims;
  for (const Dim& dim : shape) dims.push_back(dim.value());
  return dims;
}

Shape bind(const Shape& shape, const Binding& binding) {
  Shape bound;
  for (const Dim& dim : shape) bound.push_back(dim.bind(binding));
  return bound;
}

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

std::int64_t element_count(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  bool overflow = false;
  for (const std::int64_t dim : dims) overflow |= __builtin_mul_overflow(count, dim, &count);
  if (!overflow) return count;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  throw UsageError(
      concat("shape: ", Dims(dims.begin(), dims.end()), " has more than 2^63 elements"));
}

Dims dense_strides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    // It overflows only if there is no element; then no stride is used.
    (void)__builtin_mul_overflow(stride, std::max<std::int64_t>(dims[axis], 1), &stride);
  }
  return strides;
}

TensorType TensorType::parse(std::string_view text) {
  TextCursor cursor("tensor type", text);
  const auto dtype = parse_dtype(cursor.take_word());
  cursor.check(dtype.has_value(), "a dtype such as f32, then dimensions such as [N,3,32,32],");
  cursor.check(cursor.take('['), "\"[\"");
  std::string_view list = cursor.rest();
  while (list.ends_with(' ')) list.remove_suffix(1);
  cursor.check(list.ends_with(']'), "a \"]\" that ends the type");
  list.remove_suffix(1);
  const bool scalar = list.find_first_not_of(' ') == std::string_view::npos;
  return {*dtype, scalar ? Shape{} : parse_shape(cursor, list)};
}

}  // namespace narrowgauge
