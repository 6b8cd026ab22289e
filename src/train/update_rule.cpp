// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/update_rule.h"

#include "narrowgauge/graph.h"
#include "ops/training/weight_update.h"

namespace narrowgauge {

UpdateRule::UpdateRule() : UpdateRule(SgdUpdate{}) {}

void UpdateRule::set(std::string_view name, Hyperparameter::Value value) {
  std::string names;
  for (const Hyperparameter& each : hyperparameters()) {
    names += concat(names.empty() ? "" : ", ", each.name);
    if (each.name != name) continue;
    require(
        each.value.index() == value.index(), op().full_name(), ": ", name, " is a ",
        std::holds_alternative<bool>(each.value) ? "switch, not a number" : "number, not a switch");
    rule_ = rule_->with({name, value});
    return;
  }
  throw UsageError(concat(op().full_name(), ": has no ", name, ", only ", names));
}

bool UpdateRule::operator==(const UpdateRule& other) const {
  return &op() == &other.op() && equal(op(), attributes(), other.attributes());
}

}  // namespace narrowgauge
