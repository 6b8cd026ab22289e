// SPDX-License-Identifier: Apache-2.0
#include "ops/offers/contraction.h"

#include <algorithm>
#include <array>

#include "narrowgauge/tf32.h"

namespace narrowgauge {

namespace {

// Narrow operands are multiplied exactly and added up in f32, which keeps ieee and f32 too.
bool keeps(Math math, DType dtype, const Target& target) {
  if (math == Math::f16) return dtype == DType::f16;
  if (math == Math::bf16) return dtype == DType::bf16;
  return math == Math::none || (is_f32_math(math) && !rounds_operands(math, target));
}

bool has_kernel(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

}  // namespace

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

namespace {

// Whether products of f32 and f16 may be those of bf16x3.
bool allows_bf16x3(Math math, DType dtype, const Target& target) {
  if (math == Math::bf16x3) return true;
  if (dtype == DType::f16) return math == Math::f16 || math == Math::f32;
  return dtype == DType::f32 && math == Math::f32 && target.fast_math;
}

}  // namespace

std::string contraction_reason(const Request& request) {
  const DType dtype = request.inputs[0].dtype;
  if (!has_kernel(dtype)) return concat("dtype ", dtype);
  if (!keeps(request.math, dtype, request.target))
    return concat("math ", request.math, " of ", dtype);
  return storage_reason(request);
}

std::string tile_math_reason(Math math, DType dtype, const Target& target) {
  const bool takes = dtype == DType::bf16
                         ? math == Math::bf16 || math == Math::f32 || math == Math::none
                         : allows_bf16x3(math, dtype, target);
  if (takes) return {};
  return concat("math ", math, " of ", dtype, target.fast_math ? "" : " without fast math");
}

std::string tile_product_reason(const Request& request) {
  std::string reason = tile_math_reason(request.math, request.inputs[0].dtype, request.target);
  return reason.empty() ? storage_reason(request) : reason;
}

// oneDNN's own bf16 kernels flush subnormals; IEEE's products and sums do not.
cpu::ContractionOptions contraction_options(const Request& request) {
  return {.native_bf16 = request.math != Math::ieee};
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
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sources[i] = call.inputs[static_cast<std::size_t>(inputs[i])].data;
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

Offer offer_contraction(const Request& request, std::vector<int> inputs,
                        std::function<cpu::Prepared()> prepare) {
  std::string reason = contraction_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_prepared(std::move(prepare), std::move(inputs));
}

}  // namespace narrowgauge
