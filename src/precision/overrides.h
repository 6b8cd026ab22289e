// SPDX-License-Identifier: Apache-2.0
// Overrides of classes and formats: "Sum=deny", "conv1=f32", "head/*=bf16", one per option.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/precision.h"
#include "precision/vertices.h"

namespace narrowgauge {

struct Override {
  std::string text;     // as it was written
  std::string pattern;  // of names of ops and entries, and of the names that nodes have in regions
  std::optional<PrecisionClass> precision;
  std::optional<DType> dtype;  // f32, f16 or bf16; one of the two is set
};

Override parse_override(std::string_view text);  // throws UsageError

// Whether the override is for this vertex by its name, not by a pattern or an op. What stands in a
// region is called by its path ("loop1:body:mul") or by the name that it has there ("mul").
bool is_by_name(const Override& rule, const PrecisionVertex& vertex);

// The last override that fits each vertex, or nullptr. Throws UsageError for one that fits no
// vertex of the graph and names no op.
std::vector<const Override*> match_overrides(std::span<const Override> overrides,
                                             std::span<const PrecisionVertex> vertices);

}  // namespace narrowgauge
