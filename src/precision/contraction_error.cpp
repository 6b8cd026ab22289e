// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/contraction_error.h"

#include <cmath>

#include "base/machine/floating_environment.h"
#include "base/text/number_text.h"
#include "narrowgauge/error_bound.h"
#include "narrowgauge/simulate.h"
#include "narrowgauge/tf32.h"
#include "ops/convolution/conv.h"
#include "ops/units/unit_choice.h"

namespace narrowgauge {
namespace {

using sim::OperandRounding;

struct Arithmetic {
  const UnitModel* unit = nullptr;
  OperandRounding operands = OperandRounding::none;
};

// Formats with scales lose small numbers beside large ones: the cost of that rounding has no bound
// in terms of sum |a||b|, and is left out.
Arithmetic simulated_arithmetic(Math math, DType dtype) {
  const UnitModel& unit = unit_model(math, dtype);
  const bool scaled = unit.operand >= UnitFormat::f8e4m3;
  const bool rounds = !scaled && unit.operand != own_format(dtype);
  return {&unit, rounds ? OperandRounding::nearest : OperandRounding::none};
}

Arithmetic arithmetic_of(Math math, DType dtype) {
  const auto ieee = [](UnitFormat format) {
    return find_unit_model(MatrixUnit::ieee, format, usual_result(format));
  };
  if (is_simulated(math)) return simulated_arithmetic(math, dtype);
  if (asks_for_tf32(math, dtype) && !tf32_allowed()) return {ieee(own_format(dtype))};
  switch (math) {
    case Math::ieee:
    case Math::f16:
    case Math::bf16:
      return {ieee(own_format(dtype))};
    case Math::f32:
    case Math::tf32:
      return {ieee(UnitFormat::tf32), OperandRounding::nearest};
    default:
      return {};
  }
}

std::optional<std::int64_t> elements_of(const TensorType& type, const Binding& binding) {
  const Shape shape = bind(type.shape, binding);
  if (!is_known(shape)) return {};
  return element_count(known_dims(shape));
}

TensorType bound_type(const TensorType& type, const Binding& binding) {
  return {type.dtype, bind(type.shape, binding)};
}

// The taps of dx; elements at its borders have fewer products than w has taps.
std::int64_t taps_of(const TensorType& w, std::int64_t groups) {
  const Dims dims = known_dims(w.shape);
  return element_count(dims) / std::max<std::int64_t>(dims[1] * groups, 1);
}

std::optional<std::int64_t> depth_of(const Graph& graph, const Node& node, const Binding& binding) {
  TensorTypes inputs, outputs;
  for (const Value& value : node.inputs)
    inputs.push_back(value.is_absent() ? TensorType{} : bound_type(graph.type(value), binding));
  for (const ValueInfo& output : node.outputs) outputs.push_back(bound_type(output.type, binding));
  for (const TensorType& type : inputs)
    if (!is_known(type.shape)) return {};
  const auto count = elements_of(outputs[0], binding);
  if (!count || *count == 0) return {};
  if (node.is<ConvDataGradient>()) return taps_of(inputs[1], node.as<ConvDataGradient>().group);
  const double flops = node.op->flops(node.attributes.get(), inputs, outputs);
  return std::llround(std::ceil(flops / 2 / static_cast<double>(*count)));
}

}  // namespace

std::optional<ContractionError> contraction_error(const Graph& graph, const Node& node, Math math,
                                                  const Binding& binding) {
  const FloatingEnvironment environment(Subnormals::keep);
  if (!node.op->flops || node.op->info.fusion != Fusion::contraction || node.inputs.empty())
    return {};
  const Arithmetic arithmetic = arithmetic_of(math, graph.type(node.inputs[0]).dtype);
  const auto depth = depth_of(graph, node, binding);
  if (!arithmetic.unit || !depth) return {};
  const UnitModel& unit = *arithmetic.unit;
  const sim::Contraction contraction{*depth, false, arithmetic.operands};
  const auto expected = sim::expected_error(unit, *depth, sim::RandomOperands::normal);
  const auto biased = sim::expected_error(unit, *depth, sim::RandomOperands::uniform);
  return ContractionError{
      *depth, concat(name(unit.unit), ' ', name(unit.operand), " -> ", name(unit.result)),
      sim::error_bound(unit, contraction).relative, expected.deviation, biased.bias};
}

std::string error_text(const ContractionError& error) {
  std::string out = concat("sums of ", error.depth, " products (", error.unit, "): at most ",
                           general_text(error.bound, 2), " of sum |a||b|; about ",
                           general_text(error.expected, 2), " where operands are random");
  if (error.bias != 0)
    out += concat(error.bias > 0 ? ", +" : ", ", general_text(error.bias, 1),
                  " on average where none is negative");
  return out;
}

}  // namespace narrowgauge
