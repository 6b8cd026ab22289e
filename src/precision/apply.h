// SPDX-License-Identifier: Apache-2.0
// Applies a precision plan: the graph with casts and math contracts.
#pragma once

#include "narrowgauge/precision.h"

namespace narrowgauge {

// Nodes keep name, origin and order. Each value gets at most one Cast per format, named
// "<value>.to_f16", placed before the first node that reads it and shared by all readers. A cast
// back to the format that a value was widened from is the value itself; a constant is converted
// here, and finite values stay finite. Ports other than T keep their format; ports marked `^` or
// `any` take values as they come if the outputs do not depend on it. Outputs of the graph and next
// values of states keep their format. A parameter whose line has a format is read in that format by
// all but the update, and without masters kept in it (passes/training/drop_masters.h). Throws
// ModelError if the plan belongs to another model, UsageError if an op's outputs do not follow its
// T.
Graph apply(const Graph& f32_graph, const PrecisionPlan& plan);

}  // namespace narrowgauge
