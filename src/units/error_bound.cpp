// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/machine/floating_environment.h"
#include "narrowgauge/matrix_unit_formats.h"

namespace narrowgauge::sim {
namespace {

double power(int exponent) { return std::ldexp(1.0, exponent); }

// gamma_m for a unit roundoff; infinite if the bound says nothing.
double gamma(double roundings, double u) {
  const double sum = roundings * u;
  return sum < 1 ? sum / (1 - sum) : std::numeric_limits<double>::infinity();
}

double operations_of(const UnitModel& unit, std::int64_t depth) {
  return std::ceil(static_cast<double>(depth) / unit.terms);
}

int mantissa_bits(const UnitModel& unit) {
  if (unit.rounding == ResultRounding::f32_cut_to_13) return 13;
  return float_format(unit.result).mantissa_bits;
}

// The least result above zero.
double least_result(UnitFormat format) {
  const FloatFormat bits = float_format(format);
  return power(bits.smallest_exponent() - bits.mantissa_bits);
}

// What cut terms lose if an operand is subnormal or the floor applies.
ErrorBound cut_underflow(const UnitModel& unit, double terms) {
  const double quantum = power(-unit.fraction);
  const int least = float_format(unit.operand).smallest_exponent();
  ErrorBound bound;
  bound.per_operand = terms * quantum * power(least);
  bound.absolute = terms * quantum * (power(unit.floor) + power(2 * least));
  return bound;
}

ErrorBound cut_bound(const UnitModel& unit, const Contraction& contraction) {
  const auto depth = static_cast<double>(contraction.depth);
  const double operations = operations_of(unit, contraction.depth);
  // A c with more bits than F is cut even if it is the largest term.
  const double whole_c = unit.fraction < 23 ? depth + 1 : depth;
  const double cuts = contraction.has_c ? whole_c : std::max(depth - 1, 0.0);
  const bool nearest = unit.rounding == ResultRounding::f16_nearest;
  const double u = power(-mantissa_bits(unit) - (nearest ? 1 : 0));
  ErrorBound bound = cut_underflow(unit, depth);
  bound.relative = cuts * power(-unit.fraction) + operations * u;
  if (nearest) bound.relative *= std::exp(operations * std::log1p(u));
  bound.absolute += operations * least_result(unit.result);
  return bound;
}

// Two sums that are cut, then c is added to nearest.
ErrorBound then_added_bound(const UnitModel& unit, const Contraction& contraction) {
  const auto depth = static_cast<double>(contraction.depth);
  const double operations = operations_of(unit, contraction.depth);
  const bool nearest = unit.rounding == ResultRounding::f16_nearest;
  const int p = mantissa_bits(unit);
  const double u = power(-p - (nearest ? 1 : 0)), last = power(-p - 1);
  ErrorBound bound = cut_underflow(unit, depth);
  // Each part of S passes through its own two sums and through all later additions.
  const double per_sum = unit.terms * power(-unit.fraction) + 2 * u;
  bound.relative = (1 + per_sum) * std::pow(1 + u, 2) * std::exp(operations * std::log1p(last)) - 1;
  bound.absolute += 3 * operations * least_result(unit.result);
  return bound;
}

// Sums of 16 products are exact; 2^e <= 4 |sum| except for the scales' own bits (up to 3 of E4M3).
// NVFP4 has scales of whole tensors: the sum is multiplied by them, and c added, in f32.
ErrorBound group_bound(const UnitModel& unit, const Contraction& contraction) {
  const double groups = std::ceil(static_cast<double>(contraction.depth) / 16);
  const double operations = operations_of(unit, contraction.depth);
  ErrorBound bound;
  bound.relative = groups * 32 * power(-unit.fraction) + operations * power(-mantissa_bits(unit));
  if (unit.operand == UnitFormat::nvf4) bound.relative = (1 + bound.relative) * (1 + 0x1p-22) - 1;
  bound.absolute =
      groups * power(unit.floor - unit.fraction) + operations * least_result(unit.result);
  return bound;
}

// The number of roundings on a term's longest path.
double roundings_of(const UnitModel& unit, const Contraction& contraction) {
  const auto depth = static_cast<double>(contraction.depth);
  const double c = contraction.has_c ? 1 : 0;
  switch (unit.summation) {
    case Summation::split_chains:
      return std::ceil(depth / 4) + 3 + c;
    case Summation::pairwise:
      return std::ceil(std::log2(std::max(depth, 1.0))) + 1 + c;
    case Summation::even_and_odd:
      return std::min(std::ceil(depth / 2), 16.0) + 1 + operations_of(unit, contraction.depth);
    default:
      return depth;
  }
}

ErrorBound chain_bound(const UnitModel& unit, const Contraction& contraction) {
  const bool wide = unit.result == UnitFormat::f64;
  const auto depth = static_cast<double>(contraction.depth);
  ErrorBound bound;
  bound.relative = gamma(roundings_of(unit, contraction), power(wide ? -53 : -24));
  const bool flushes =
      unit.summation == Summation::even_and_odd || unit.summation == Summation::odd_then_even;
  // Each product and each of at most as many sums may underflow.
  const double steps = 2 * depth + operations_of(unit, contraction.depth) * 2;
  bound.absolute = steps * (flushes ? power(-126) : least_result(unit.result));
  if (flushes) bound.per_operand = 2 * depth * power(-126);
  return bound;
}

void add_operand_rounding(const UnitModel& unit, const Contraction& contraction,
                          ErrorBound& bound) {
  if (contraction.operands == OperandRounding::none || unit.operand >= UnitFormat::s8) return;
  const FloatFormat format = float_format(unit.operand);
  const bool cut = contraction.operands == OperandRounding::truncated;
  const double v = power(-format.mantissa_bits - (cut ? 0 : 1));
  bound.relative = (1 + bound.relative) * (1 + v) * (1 + v) - 1;
  const double least = power(format.smallest_exponent() - format.mantissa_bits);
  const auto depth = static_cast<double>(contraction.depth);
  bound.per_operand += 2 * depth * least * (1 + v);
  bound.absolute += depth * least * least;
}

}  // namespace

ErrorBound error_bound(const UnitModel& unit, const Contraction& contraction) {
  const FloatingEnvironment environment(Subnormals::keep);
  ErrorBound bound;
  if (contraction.depth > 0) switch (unit.summation) {
      case Summation::truncated:
        bound = cut_bound(unit, contraction);
        break;
      case Summation::then_added:
        bound = then_added_bound(unit, contraction);
        break;
      case Summation::groups:
        bound = group_bound(unit, contraction);
        break;
      case Summation::integer:
        break;
      default:
        bound = chain_bound(unit, contraction);
    }
  add_operand_rounding(unit, contraction, bound);
  return bound;
}

}  // namespace narrowgauge::sim
