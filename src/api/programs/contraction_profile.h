// SPDX-License-Identifier: Apache-2.0
// How long the contractions of a network take while it predicts.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "runtime/executor.h"

namespace narrowgauge {

using ContractionTimes = std::map<std::string, double>;  // milliseconds, by names of nodes

// Times the nodes of these names, which may be in fused groups, each with all that is computed for
// it alone, and with what runs in one kernel with it: the least of several runs.
ContractionTimes profile_contractions(Executor& executor, std::span<const Tensor> inputs,
                                      const std::set<std::string>& names);

}  // namespace narrowgauge
