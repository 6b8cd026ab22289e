// SPDX-License-Identifier: Apache-2.0
// How far a contraction's results can be from the exact ones under its math, from the model of the
// unit that computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "narrowgauge/export.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

// How far the sums of a contraction can lie, and usually lie, from the exact ones.
struct ContractionError {
  std::int64_t depth = 0;  // products in an element, at most
  std::string unit;        // "ieee f16 -> f32": whose sums these are
  double bound = 0;        // |error| <= bound sum |a||b|, whatever the operands
  double expected = 0;     // root mean square to sum |a||b|, for independent operands of N(0, 1)
  double bias = 0;         // its mean for operands of U(0, 1); below 0 towards zero
};

// The error of a contraction with `math` in a graph whose symbols have their sizes from `binding`.
// Nothing for other nodes, unknown sizes and ways of keeping f32 by several products (bf16x3,
// tf32x3, dfp16). For f32, which promises TF32's accuracy, operands count as rounded to TF32. Sums
// of ieee, f16 and bf16 are bounded whatever their order. For formats with scales (f8, mx, nv) only
// the sums of the rounded operands count. Throws UsageError if a simulated unit lacks the format.
NG_API std::optional<ContractionError> contraction_error(const Graph& graph, const Node& node,
                                                         Math math, const Binding& binding);

// One line for people, without an end of line: "sums of 64 products (ieee f16 -> f32): ...".
NG_API std::string error_text(const ContractionError& error);

}  // namespace narrowgauge
