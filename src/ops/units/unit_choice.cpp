// SPDX-License-Identifier: Apache-2.0
#include "ops/units/unit_choice.h"

#include "base/environment.h"
#include "narrowgauge/error.h"
#include "narrowgauge/tf32.h"

namespace narrowgauge {

namespace {

bool is_gpu(MatrixUnit unit) { return unit <= MatrixUnit::b200_mma; }

// The format asked for, whether or not TF32 is allowed.
UnitFormat asked_format(Math math, DType dtype) {
  if (operand_format_of(math) != UnitFormat::automatic) return operand_format_of(math);
  if (dtype == DType::f16) return UnitFormat::f16;
  if (dtype == DType::bf16) return UnitFormat::bf16;
  if (dtype == DType::f64) return UnitFormat::f64;
  const MatrixUnit unit = unit_of(math);
  const bool has_tf32 =
      is_gpu(unit) && find_unit_model(unit, UnitFormat::tf32, UnitFormat::f32) != nullptr;
  return has_tf32 ? UnitFormat::tf32 : UnitFormat::f32;
}

UnitFormat format_for(Math math, DType dtype) {
  const UnitFormat format = asked_format(math, dtype);
  return format == UnitFormat::tf32 && !tf32_allowed() ? UnitFormat::f32 : format;
}

const UnitModel* find_model(MatrixUnit unit, UnitFormat format) {
  const UnitModel* model = find_unit_model(unit, format, usual_result(format));
  if (!model && format == UnitFormat::f32)
    return find_unit_model(MatrixUnit::ieee, UnitFormat::f32, UnitFormat::f32);
  return model;
}

// The formats of a unit, as "f16, f32".
std::string formats_of(MatrixUnit unit) {
  std::string text;
  for (const UnitModel& model : unit_models())
    if (model.unit == unit && model.result == usual_result(model.operand) &&
        model.result != UnitFormat::s32)
      text += concat(text.empty() ? "" : ", ", name(model.operand));
  return text;
}

bool takes_unresolved() {
  const std::string text = environment("SIM_UNRESOLVED");
  require(text.empty() || text == "0" || text == "1",
          "NARROWGAUGE_SIM_UNRESOLVED: expected 0 or 1, got \"", text, '"');
  return text == "1";
}

}  // namespace

const UnitModel& unit_model(Math math, DType dtype) {
  const MatrixUnit unit = unit_of(math);
  const UnitFormat format = format_for(math, dtype);
  const UnitModel* const model = find_model(unit, format);
  require(model && model->result != UnitFormat::s32, "math ", math, " of ", dtype, ": ", name(unit),
          " multiplies no ", name(format), ", only ", formats_of(unit));
  require(model->evidence != Evidence::unresolved || takes_unresolved(), "math ", math, " of ",
          dtype, ": what ", name(unit), " does with ", name(format),
          " is not known for sure; NARROWGAUGE_SIM_UNRESOLVED=1 takes what is assumed");
  return *model;
}

bool asks_for_tf32(Math math, DType dtype) {
  if (is_simulated(math)) return asked_format(math, dtype) == UnitFormat::tf32;
  return math == Math::tf32 || math == Math::tf32x3;
}

bool multiplies_f64(Math math) {
  return operand_format_of(math) == UnitFormat::automatic &&
         find_unit_model(unit_of(math), UnitFormat::f64, UnitFormat::f64) != nullptr;
}

namespace {

std::string order_of(const UnitModel& model) {
  switch (model.summation) {
    case Summation::truncated:
    case Summation::then_added:
    case Summation::groups:
      return concat(model.terms, " products at once, cut to ", model.fraction, " bits");
    case Summation::split_chains:
      return "four chains of FMAs";
    case Summation::pairwise:
      return "sums of halves";
    case Summation::even_and_odd:
      return "FMAs over even and odd k";
    case Summation::odd_then_even:
      return "FMAs over pairs of k, the second first";
    default:
      return "FMAs in the order of k";
  }
}

}  // namespace

std::string describe(const UnitModel& model) {
  return concat(name(model.operand), " operands, ", order_of(model), "; ", name(model.evidence));
}

}  // namespace narrowgauge
