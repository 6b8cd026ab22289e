// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/narrow_form.h"

#include "narrowgauge/target.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "quantize/byte_values.h"
#include "quantize/freeze.h"

namespace narrowgauge {

namespace {

Graph narrowed(const Graph& f32, const PrecisionRequest& request) {
  return in_narrow(f32, make_precision_plan(f32, request));
}

}  // namespace

Graph in_narrow(const Graph& f32, const PrecisionPlan& plan) {
  return with_narrow_constants(apply(f32, plan));
}

Graph in_narrow(const Graph& f32, DType narrow) { return narrowed(f32, {.narrow = narrow}); }

Graph bf16_beside_bytes(const Graph& quantized) {
  PrecisionRequest request{.narrow = DType::bf16};
  for (int i = 0; i < static_cast<int>(quantized.nodes().size()); ++i)
    if (reads_bytes(quantized, i))
      request.overrides.push_back(quantized.node(i).full_name() + "=f32");
  return narrowed(quantized, request);
}

bool has_bf16_unit() { return Target::machine().isa >= Isa::bf16; }

}  // namespace narrowgauge
