// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/contraction.h"

#include <algorithm>
#include <array>

#include "ir/reason.h"

namespace narrowgauge {

cpu::View kernel_view(const Operand& operand) {
  return {operand.dtype, operand.dims, operand.strides};
}

std::string storage_reason(const Request& request) {
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !(operand.storage.blocks.empty() && operand.storage.encoding.empty()))
        return concat("storage ", operand.storage);
  if (!request.outputs[0].present) return "nobody reads the result";
  return {};
}

std::string contraction_reason(Way way, const Request& request) {
  return first_reason(
      [&] { return way_reason(way, request.math, request.inputs[0].dtype, request.target); },
      [&] { return storage_reason(request); });
}

// oneDNN's own bf16 kernels flush subnormals; IEEE's products and sums do not.
cpu::ContractionOptions contraction_options(const Request& request) {
  return {.native_bf16 = request.math != Math::ieee, .threads = request.target.threads};
}

void describe(Offer& offer, const cpu::Prepared& prepared) {
  offer.implementation = prepared.implementation;
  offer.facts = prepared.facts;
  offer.workspace = prepared.workspace;
}

namespace {

void set_prepared(Offer& offer, cpu::Prepared prepared, std::vector<int> inputs) {
  constexpr std::size_t most_inputs = 4;
  NG_INVARIANT(inputs.size() <= most_inputs);
  describe(offer, prepared);
  offer.run = [run = std::move(prepared.run), inputs = std::move(inputs)](const KernelCall& call) {
    std::array<const void*, most_inputs> sources{};
    for (std::size_t i = 0; i < inputs.size(); ++i) sources[i] = call.input(inputs[i]).data;
    void* const result = call.outputs[0].data;
    run({sources.data(), &result, call.workspace, call.flushed_at(0)});
  };
}

}  // namespace

Offer offer_prepared(cpu::Prepared prepared, std::vector<int> inputs) {
  Offer offer;
  set_prepared(offer, std::move(prepared), std::move(inputs));
  return offer;
}

Offer offer_prepared(std::function<cpu::Prepared()> prepare, std::vector<int> inputs) {
  Offer offer;
  offer.prepare = [prepare = std::move(prepare), inputs = std::move(inputs)](Offer& ready) {
    set_prepared(ready, prepare(), inputs);
  };
  return offer;
}

}  // namespace narrowgauge
