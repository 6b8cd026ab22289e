// SPDX-License-Identifier: Apache-2.0
#include "ops/composition/composite.h"

#include <memory>

#include "ops/composition/region_call.h"

namespace narrowgauge {

Parts parts_of(const OpRecord& op, const Attributes& attributes,
               const std::vector<PartInput>& inputs) {
  Parts parts;
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(absent);
    if (inputs[i].constant) {
      values.back() = parts.graph.constant(*inputs[i].constant);
    } else if (inputs[i].type) {
      values.back() = parts.graph.input(concat("in", i), *inputs[i].type);
      parts.inputs.push_back(i);
    }
  }
  Rewriting rewriting(parts.graph, values, {});
  const Values made = op.decompose(attributes.get(), rewriting);
  for (std::size_t o = 0; o < made.size(); ++o) parts.graph.output(concat("out", o), made[o]);
  return parts;
}

namespace {

Offer offer_parts(const Request& request) {
  std::vector<PartInput> inputs;
  for (const Operand& operand : request.inputs) {
    inputs.push_back({std::nullopt, operand.constant});
    if (operand.present)
      inputs.back().type = {operand.dtype, Shape(operand.dims.begin(), operand.dims.end())};
  }
  std::shared_ptr<const Parts> parts;
  try {
    parts = std::make_shared<const Parts>(parts_of(request.op, request.attributes, inputs));
  } catch (const UsageError& error) {
    return Offer::decline(error.what());
  }
  return offer_region_call(request, [parts](RegionCall& call) {
    std::vector<Tensor> fed;
    for (const std::size_t i : parts->inputs) fed.push_back(call.input(i));
    call.set_outputs(call.run(parts->graph, fed, "", 0));
  });
}

constexpr Kernel kernel_list[] = {{"decomposed", offer_parts}};

}  // namespace

std::span<const Kernel> composite_kernels() { return kernel_list; }

bool is_composite(const OpRecord& op) {
  const std::span<const Kernel> kernels = op.kernels();
  return kernels.data() == composite_kernels().data() || (kernels.empty() && op.decompose);
}
bool is_composite(const Node& node) { return is_composite(*node.op); }

}  // namespace narrowgauge
