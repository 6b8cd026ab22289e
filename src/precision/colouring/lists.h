// SPDX-License-Identifier: Apache-2.0
// Makes a plan from the precision class of each op, overrides by name, and the colouring: what the
// policies of mixed precision have in common.
#pragma once

#include <string_view>

#include "precision/vertices/vertices.h"

namespace narrowgauge {

// Which nodes a policy lets become narrow, as far as lists and colouring agree. An override by name
// decides before it.
struct NarrowNodes {
  bool (*may_be)(const PrecisionVertex&) = nullptr;  // nullptr: all
  std::string_view text{};                           // as a remark on the nodes that may not
};

// Throws UsageError for a format that is not narrow, for math that contractions in f32 cannot have
// and for a bad override.
PrecisionPlan colour_by_lists(const Graph& f32_graph, const PrecisionRequest& wanted,
                              const NarrowNodes& narrow_nodes = {});

}  // namespace narrowgauge
