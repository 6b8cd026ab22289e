// SPDX-License-Identifier: Apache-2.0
#include "ops/no_gradient.h"

#include "base/unloading.h"

namespace narrowgauge {

std::string_view why_no_gradient(const OpRecord& op) {
  static const auto& all = immortal<std::vector<NoGradient>>(ops_without_gradient());
  for (const NoGradient& entry : all)
    if (entry.op->full_name() == op.full_name()) return entry.reason;
  return "";
}

}  // namespace narrowgauge
