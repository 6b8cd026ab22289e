// SPDX-License-Identifier: Apache-2.0
// How nodes of older opsets are brought to the newest (ONNX's Changelog.md says what each version
// of an op was).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/onnx/import/node_import.h"

namespace narrowgauge::onnx {

inline constexpr std::int64_t newest_opset = 28;

// The opsets of a model or function by domain; "ai.onnx" is "".
std::map<std::string, std::int64_t> opsets_of(const std::vector<OpsetImport>& imports);

// Changes a node of an opset before `until` to what it is in `until`. Returns its outputs where it
// adds the ops itself, else nothing.
struct Conversion {
  std::string_view op;
  std::int64_t until;
  Values (*convert)(NodeImport& node);
};

// Applies all that concern the node, oldest first; the outputs, or nothing if the node is still to
// be added.
Values convert(NodeImport& node);

// The tables, each in the order of versions.
std::span<const Conversion> conversions_of_attributes();  // that became inputs, or are no more
std::span<const Conversion> conversions_of_meaning();     // of ops that computed something else

}  // namespace narrowgauge::onnx
