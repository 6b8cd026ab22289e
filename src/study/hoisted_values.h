// SPDX-License-Identifier: Apache-2.0
// Says which values a graph computes once instead of in every run.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/explain.h"

namespace narrowgauge {

// A value that is computed once, and again after weights change, as it depends on these and on
// constants alone.
struct HoistedValue {
  std::string node;                // that makes it
  TensorType type;                 // of the value
  std::vector<std::string> nodes;  // that are computed for it, in their order
  std::vector<std::string> from;   // the weights that it is made from; none: constants alone
};

// The values that a compiled graph computes once, in their order; no kernel is asked. Throws as
// explain_kernels() does.
std::vector<HoistedValue> hoisted_values(const Graph& f32_graph, const PrecisionPlan& plan,
                                         const KernelQuestion& question);
// The hoisted values of the predictions of a Model.
std::vector<HoistedValue> hoisted_values(const Model& model, const KernelQuestion& question);

}  // namespace narrowgauge
