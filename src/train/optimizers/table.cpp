// SPDX-License-Identifier: Apache-2.0
#include "train/optimizers/table.h"

namespace narrowgauge {

std::vector<std::string> optimizer_names() { return names_of(optimizers()); }

Optimizer parse_optimizer(std::string_view name) {
  const NamedOptimizer* found = find_record(optimizers(), name);
  require(found, "optimizer: expected one of ", listed_names(optimizers()), ", got '", name, '\'');
  return found->make();
}

}  // namespace narrowgauge
