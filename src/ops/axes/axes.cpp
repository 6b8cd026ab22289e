// SPDX-License-Identifier: Apache-2.0
#include "ops/axes/axes.h"

#include <algorithm>

namespace narrowgauge {

std::size_t normalize_axis(std::string_view op, std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  require(axis >= -size && axis < size, op, ": axis ", axis, " is outside a tensor of rank ", rank);
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::vector<std::size_t> normalize_axes(std::string_view op, std::span<const std::int64_t> axes,
                                        std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    result.push_back(normalize_axis(op, axis, rank));
    require(std::count(result.begin(), result.end(), result.back()) == 1, op, ": axis ", axis,
            " is given twice");
  }
  return result;
}

std::vector<bool> axis_mask(const Dims& axes, std::size_t rank) {
  std::vector<bool> mask(rank);
  for (const std::int64_t axis : axes) mask.at(static_cast<std::size_t>(axis)) = true;
  return mask;
}

Dims integers_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::i64) {
    const auto values = tensor.values<std::int64_t>();
    return {values.begin(), values.end()};
  }
  Dims values;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    values.push_back(static_cast<std::int64_t>(tensor.at(i)));
  return values;
}

Tensor list_of(std::span<const std::int64_t> values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

bool is_one(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim == Dim(1); });
}

Dims constant_integers(const Inference& in, int input, std::string_view port) {
  if (!in.has(input)) return {};
  const Tensor& value = in.known(input, port);
  require(value.dims().size() <= 1, in.op_name(), ": ", port, " must be a list of numbers, got ",
          value.type());
  return integers_of(value);
}

Shape known_numbers(const Inference& in, int input, std::string_view port) {
  if (!in.has(input)) return {};
  if (const Shape* const numbers = in.numbers(input)) return *numbers;
  const Dims numbers = constant_integers(in, input, port);
  return {numbers.begin(), numbers.end()};
}

Shape known_sizes(const Inference& in, int input, std::string_view port) {
  Shape sizes = known_numbers(in, input, port);
  for (const Dim& size : sizes)
    require(!size.is_known() || size.value() >= 0, in.op_name(), ": ", port,
            " must not be negative, got ", sizes);
  return sizes;
}

std::optional<Shape> same_numbers(const Inference& in) {
  const Shape* const numbers = in.numbers(0);
  return numbers ? std::optional(*numbers) : std::nullopt;
}

}  // namespace narrowgauge
