// SPDX-License-Identifier: Apache-2.0
// What the tests of lists and overrides ask, and how they read the answer.
#pragma once

#include <functional>
#include <string>

#include "precision/colouring/lists.h"

namespace narrowgauge::small {

inline PrecisionRequest options(DType narrow, std::vector<std::string> overrides = {}) {
  return {.narrow = narrow, .overrides = std::move(overrides)};
}

// "N" narrow, "D" denied, "." otherwise, for n0, n1, ...
inline std::string colours(const PrecisionPlan& plan) {
  std::string out;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.name[0] != 'n') continue;
    if (entry.dtype != DType::f32)
      out += 'N';
    else
      out += entry.rule == PrecisionRule::deny_list || entry.rule == PrecisionRule::deny_propagated
                 ? 'D'
                 : '.';
  }
  return out;
}

inline PrecisionRule rule_of(const PrecisionPlan& plan, std::string_view name) {
  return plan.find(name)->rule;
}

// What the call says when it refuses; "" if it does not.
inline std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace narrowgauge::small
