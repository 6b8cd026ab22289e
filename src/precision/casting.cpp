// SPDX-License-Identifier: Apache-2.0
#include "precision/casting.h"

#include <algorithm>
#include <cmath>

#include "ops/pointwise/cast.h"

namespace narrowgauge {

bool widens_exactly(DType from, DType to) {
  if (from == to) return true;
  switch (from) {
    case DType::f4e2m1:
      return is_floating(to) && to != DType::f8e8m0 && to != DType::f8e4m3fnuz &&
             to != DType::f8e5m2fnuz;  // which have no negative zero
    case DType::f8e8m0:                // 2^-127 is a subnormal of bf16 and of f32
      return to == DType::bf16 || to == DType::f32 || to == DType::f64;
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz:
      return to == DType::f16 || to == DType::bf16 || to == DType::f32 || to == DType::f64;
    case DType::f16:
    case DType::bf16:
      return to == DType::f32 || to == DType::f64;
    case DType::f32:
      return to == DType::f64;
    default:
      return false;
  }
}

std::string cast_name(const Graph& graph, Value value, DType to) {
  std::string base = graph.value_name(value);
  for (char& c : base)
    if (c == '@' || c == '#') c = '.';  // they have a meaning in the text form
  return concat(base, ".to_", to);
}

namespace {

// Masks such as -1e9 must not become infinities, which make NaN where they meet.
Tensor convert_constant(const Tensor& tensor, DType dtype) {
  Tensor result = tensor.cast(dtype);
  if (!is_floating(dtype)) return result;
  const double limit = largest_finite(dtype);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const double value = tensor.at(i);
    if (std::isfinite(value) && std::isinf(result.at(i)))
      result.set(i, std::copysign(limit, value));
  }
  return result;
}

}  // namespace

Value Casting::convert(Value value, DType dtype) {
  std::string name = cast_name(graph_, value, dtype);
  while (graph_.find_node(name) >= 0 || reserved_.find_node(name) >= 0) name += "_";
  const Node& producer = graph_.producer(value);
  NodeOptions options{.name = name, .origin = producer.full_name(), .phase = producer.phase};
  if (const Tensor* constant = graph_.constant_value(value))
    return graph_.add(Constant{convert_constant(*constant, dtype)}, {}, std::move(options));
  return graph_.add(Cast{.to = dtype}, {value}, std::move(options));
}

Value Casting::as(Value value, DType dtype) {
  const DType from = graph_.type(value).dtype;
  if (from == dtype) return value;
  const Node& producer = graph_.producer(value);
  if (producer.is<Cast>() && widens_exactly(graph_.type(producer.inputs[0]).dtype, from))
    return as(producer.inputs[0], dtype);
  const auto key = std::pair(value, dtype);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  return made_[key] = convert(value, dtype);
}

}  // namespace narrowgauge
