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

std::vector<int> lasting_inputs(const Request& request, const std::vector<int>& inputs) {
  std::vector<int> lasting;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (request.input(inputs[i]).lasts) lasting.push_back(static_cast<int>(i));
  return lasting;
}

namespace {

// The pointers of the node's inputs in the order of a prepared kernel; null for port -1.
class Sources {
 public:
  Sources(const std::vector<int>& ports, std::span<const View> inputs) {
    NG_INVARIANT(ports.size() <= data_.size());
    for (std::size_t i = 0; i < ports.size(); ++i)
      data_[i] = ports[i] < 0 ? nullptr : inputs[static_cast<std::size_t>(ports[i])].data;
  }
  const void* const* data() const { return data_.data(); }

 private:
  std::array<const void*, 8> data_{};
};

}  // namespace

Packing packing_of(cpu::Packed packed, const std::vector<int>& ports) {
  Packing packing{std::move(packed.format), packed.bytes, {}, {}};
  if (packing.bytes == 0) return packing;
  for (const int input : packed.inputs)
    packing.inputs.push_back(ports[static_cast<std::size_t>(input)]);
  packing.run = [run = std::move(packed.run), ports](std::span<const View> inputs,
                                                     std::byte* bytes) {
    run(Sources(ports, inputs).data(), bytes);
  };
  return packing;
}

namespace {

void set_prepared(Offer& offer, cpu::Prepared prepared, std::vector<int> inputs) {
  describe(offer, prepared);
  offer.packing = packing_of(std::move(prepared.packed), inputs);
  offer.run = [run = std::move(prepared.run), inputs = std::move(inputs)](const KernelCall& call) {
    void* const result = call.outputs[0].data;
    run({Sources(inputs, call.inputs).data(), &result, call.workspace, call.flushed_at(0),
         call.packed});
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
