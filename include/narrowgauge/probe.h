// SPDX-License-Identifier: Apache-2.0
// How a matrix unit adds, found only by feeding it numbers, as FTTN does (Li et al., arXiv
// 2403.00232).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "narrowgauge/export.h"
#include "narrowgauge/matrix_unit.h"

namespace narrowgauge {

// What becomes of the bits of a sum that its format has no room for.
enum class SumRounding : std::uint8_t { towards_zero, nearest, up, down };
NG_API std::string_view name(SumRounding rounding);  // "towards 0", "nearest", "up", "down"

// What probe() found out about a matrix unit.
struct ProbeResult {
  // A product of 48 f16 numbers whose parts cancel; nothing for formats that cannot hold them.
  // FTTN's matrix product gave 0 on V100 and A100, 191.875 on H100 and 255.875 (exact) on MI100.
  // Its operands are not published as text; ours are our own and give the same three numbers.
  std::optional<double> cancellation;
  int result_bits = 0;  // of the mantissa of a sum
  int kept_bits = 0;    // below the largest term, where it cancels in the end
  int most_bits = 0;    // that could be asked for in this format
  int at_once = 0;      // products that are rounded together, up to most_at_once
  SumRounding rounding = SumRounding::towards_zero;  // where a sum needs more than `result_bits`
  bool reads_subnormals = false, gives_subnormals = false;  // as factors; as results; false: as 0
};
inline constexpr int most_at_once = 64;  // products up to which probe() looks for `at_once`

// Whether probe() takes the unit: one of plain floating-point operands.
NG_API bool can_be_probed(const UnitModel& model);
NG_API ProbeResult probe(const UnitModel& model);  // throws UsageError for others

}  // namespace narrowgauge
