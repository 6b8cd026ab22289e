// SPDX-License-Identifier: Apache-2.0
#include "groups/fused.h"

#include "narrowgauge/graph.h"
#include "ops/activation/relu.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Fused>> fused_samples() {
  Graph body("body");
  const Value x = body.input("x", TensorType::parse("f32[2,9]"));
  const Value dy = body.input("dy", TensorType::parse("f32[2,9]"));
  const Value y = body.add(Relu{}, {x});
  body.output("dx", body.add(ReluGradient{}, {y, dy}));
  body.output("y", y);
  return {{{std::make_shared<const Graph>(std::move(body)), "f32,f32"},
           {sample("f32[2,9]"), sample("f32[2,9]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(fused, fused_samples())
