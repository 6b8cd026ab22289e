// SPDX-License-Identifier: Apache-2.0
// Says what a compiled graph runs in every call, and which values it computes once instead.
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

struct CompiledExplanation {
  std::vector<KernelReason> kernels;  // as explain_kernels() has them
  std::vector<HoistedValue> hoisted;  // in their order
};

// Compiles the graph once. Throws as explain_kernels() does.
CompiledExplanation explain_compiled(const Graph& f32_graph, const PrecisionPlan& plan,
                                     const KernelQuestion& question);
// Explains the predictions of a Model.
CompiledExplanation explain_compiled(const Model& model, const KernelQuestion& question);

}  // namespace narrowgauge
