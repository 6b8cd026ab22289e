// SPDX-License-Identifier: Apache-2.0
// The entries of a plan by name, for whoever looks many of them up.
#pragma once

#include <string_view>
#include <unordered_map>

#include "narrowgauge/precision.h"

namespace narrowgauge {

// The plan must not change while it is used.
class PlanIndex {
 public:
  explicit PlanIndex(const PrecisionPlan& plan) {
    for (const PlanEntry& entry : plan.entries) entries_.try_emplace(entry.name, &entry);
  }
  const PlanEntry* find(std::string_view name) const {  // nullptr: none
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const PlanEntry*> entries_;
};

}  // namespace narrowgauge
