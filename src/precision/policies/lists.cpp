// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/lists.h"

#include "precision/colouring/policy.h"

namespace narrowgauge {
namespace {

PrecisionPlan by_lists(const Graph& f32_graph, const PrecisionRequest& wanted) {
  return colour_by_lists(f32_graph, wanted);
}

}  // namespace
}  // namespace narrowgauge

NG_POLICY(lists, "lists", "whatever TensorFlow's lists of ops and their neighbours allow", by_lists)
