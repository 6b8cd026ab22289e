// SPDX-License-Identifier: Apache-2.0
// Why a plan decided about a node as it did, in words.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/precision.h"

namespace narrowgauge {

// "deny ReduceSum 'loss/sum' reaches it through 'add_3'".
std::string reason(const PrecisionPlan& plan, const PlanEntry& entry);
// Whether a contraction would round f32 values to TF32 but computes in ieee because that is
// forbidden.
bool tf32_is_forbidden_to(const PlanEntry& entry);
// A note in words about forbidden TF32 and about what a simulated unit does; "" if there is none.
std::string math_note(const PlanEntry& entry);
// One line for the entry and one for each cause behind it, up to the first.
std::vector<std::string> reason_chain(const PrecisionPlan& plan, const PlanEntry& entry);

}  // namespace narrowgauge
