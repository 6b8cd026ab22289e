// SPDX-License-Identifier: Apache-2.0
// Carries out a precision plan: the graph with casts and math contracts.
#pragma once

#include "narrowgauge/precision.h"

namespace narrowgauge {

// Nodes keep name, origin and order; each value gets at most one Cast per format, shared by all
// that read it, named "<value>.to_f16", placed ahead of the first of them. A cast back to the
// format that a value was widened from is the value itself; a constant is converted here, finite
// values staying finite. Ports that are not T keep their format, but for ports of type G or `any`,
// which take values as they come where the outputs do not depend on it. Outputs of the graph and
// next values of states keep their format.
// Throws ModelError when the plan belongs to another model, UsageError when an op's outputs do not
// follow its T.
Graph apply(const Graph& f32_graph, const PrecisionPlan& plan);

}  // namespace narrowgauge
