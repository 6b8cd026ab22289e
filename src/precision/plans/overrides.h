// SPDX-License-Identifier: Apache-2.0
// Overrides of classes and formats: "Sum=deny", "conv1=f32", "head/*=bf16", one per option.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/precision.h"
#include "precision/vertices/vertices.h"

namespace narrowgauge {

struct Override {
  std::string text;     // as it was written
  std::string pattern;  // of names of ops, entries, and nodes of regions and model files
  std::optional<PrecisionClass> precision;
  std::optional<DType> dtype;  // f32, f16 or bf16; one of the two is set

  bool wants_as(const Override& other) const {
    return precision == other.precision && dtype == other.dtype;
  }
};

Override parse_override(std::string_view text);  // throws UsageError

// Whether the override is for this vertex by its name, not by a pattern or an op. What stands in a
// region is called by its path ("loop1:body:mul") or by the name that it has there ("mul"), and
// what stands for nodes of a model file by theirs.
bool is_by_name(const Override& rule, const PrecisionVertex& vertex);

// The overrides of a request with the places of the graph that they reach.
class MatchedOverrides {
 public:
  // Throws UsageError for an override that reaches no place with a choice and names no op, and for
  // two that name nodes of a file which became one op, and want it differently.
  MatchedOverrides(const PrecisionRequest& wanted, std::span<const PrecisionVertex> vertices);
  // The last that fits the vertex, by its place among those given; nullptr: none.
  const Override* of(std::size_t vertex) const { return matched_[vertex]; }

 private:
  std::vector<Override> overrides_;
  std::vector<const Override*> matched_;
};

}  // namespace narrowgauge
