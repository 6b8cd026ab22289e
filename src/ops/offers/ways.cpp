// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/ways.h"

#include <algorithm>

#include "narrowgauge/tf32.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// When a row of the table holds.
enum class When : std::uint8_t {
  always,
  fast,             // with fast math
  fast_before_amx,  // the same; with AMX, three products of bf16 are faster and more accurate
  tf32_allowed
};

struct Kept {
  Way way;
  DType dtype;
  Math math;
  When when = When::always;
};

using enum Way;
constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;

// `exact` also keeps every contract that leaves operands as they are.
constexpr Kept table[] = {
    {exact, f16, Math::f16},
    {exact, bf16, Math::bf16},
    {tiles, bf16, Math::bf16},
    {tiles, bf16, Math::f32},
    {tiles, bf16, Math::none},
    {tiles, f16, Math::f16},
    {tiles, f16, Math::f32},
    {tiles, f16, Math::bf16x3},
    {tiles, f32, Math::bf16x3},
    {tiles, f32, Math::f32, When::fast},
    {pairs, bf16, Math::bf16},
    {pairs, bf16, Math::f32},
    {pairs, bf16, Math::none},
    {dfp16, bf16, Math::bf16},
    {dfp16, f16, Math::f16},
    {dfp16, f16, Math::dfp16},
    {dfp16, f32, Math::dfp16},
    {dfp16, f32, Math::f32, When::fast_before_amx},
    {tf32, f32, Math::tf32, When::tf32_allowed},
    {tf32, f32, Math::tf32x3, When::tf32_allowed},
};

bool holds(When when, const Target& target) {
  switch (when) {
    case When::always:
      return true;
    case When::fast:
      return target.fast_math;
    case When::fast_before_amx:
      return target.fast_math && target.isa < Isa::amx;
    case When::tf32_allowed:
      return target.tf32;
  }
  return false;
}

bool leaves_operands(Math math, const Target& target) {
  return math == Math::none || (is_f32_math(math) && !rounds_operands(math, target));
}

bool is_multiplied_exactly(DType dtype) { return is_f32_or_narrow(dtype) || dtype == DType::f64; }

}  // namespace

std::string way_reason(Way way, Math math, DType dtype, const Target& target) {
  if (way == exact && !is_multiplied_exactly(dtype)) return concat("dtype ", dtype);
  if (way == exact && leaves_operands(math, target)) return {};
  const auto row = std::find_if(std::begin(table), std::end(table), [&](const Kept& kept) {
    return kept.way == way && kept.dtype == dtype && kept.math == math;
  });
  if (row != std::end(table) && holds(row->when, target)) return {};
  return concat("math ", math, " of ", dtype, target.fast_math ? "" : " without fast math");
}

}  // namespace narrowgauge
