// SPDX-License-Identifier: Apache-2.0
#include "ops/training/round_weight.h"

#include <algorithm>

#include "ops/nn/random_key.h"
#include "ops/no_gradient.h"
#include "ops/shape/axis.h"
#include "ops/table.h"
#include "ops/training/update_op.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {
namespace rounding_port {
enum { weight, exact, applied, compensation, random_key };
}
}  // namespace

TensorTypes RoundWeight::infer(const Inference& in) const {
  const TensorType& weight = in.type(rounding_port::weight);
  require(is_narrow(weight.dtype), "RoundWeight: expected a weight of f16 or bf16, got ", weight);
  require(in.shape(rounding_port::exact) == weight.shape,
          "RoundWeight: expected exact values of the shape ", weight.shape, ", got ",
          in.type(rounding_port::exact));
  require(in.shape(rounding_port::applied).empty(),
          "RoundWeight: expected a scalar as applied, got ", in.type(rounding_port::applied));
  check_rounding(in, rounding_port::compensation, rounding_port::random_key);
  return {weight, weight};
}

namespace {

Offer offer_round_weight_rows(const Request& request) {
  const DType dtype = request.input(rounding_port::weight).dtype;
  if (!is_narrow(dtype)) return Offer::decline(concat("a weight of ", dtype));
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands)
      if (operand.present && !is_dense(operand)) return Offer::decline("operands with gaps");
  const bool compensated = is_given(request, rounding_port::compensation);
  if (!request.output(0).present || request.output(1).present != compensated)
    return Offer::decline("nobody reads the weight, or its compensation");
  Offer offer;
  offer.implementation = "rows";
  offer.in_place = {{rounding_port::weight, 0}};
  if (compensated) offer.in_place.push_back({rounding_port::compensation, 1});
  offer.run = [dtype, compensated,
               count = element_count(request.input(0).dims)](const KernelCall& call) {
    cpu::UpdateCommon common;
    common.count = count;
    common.weight = {call.input(rounding_port::weight).data, dtype};
    common.gradient = {call.input(rounding_port::exact).data};
    common.next_weight = {call.output(0).data, dtype};
    common.applied = *call.input(rounding_port::applied).as<const bool>();
    if (compensated) common.next_compensation = {call.output(1).data, dtype};
    if (const View key = given(call, rounding_port::random_key); key.data)
      common.random = stream_of_key(key.as<const std::int64_t>());
    // What is exact holds the compensation already, so that only a skipped step reads it.
    if (compensated) common.compensation = {call.input(rounding_port::compensation).data, dtype};
    cpu::update_by_strips(common, {}, [](const cpu::UpdateStrip& strip) {
      std::copy_n(strip.gradient, strip.count, strip.next_weight);
    });
  };
  return offer;
}

Offer round_weight_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    const auto given = [&](std::size_t port) { return port < in.size() ? &in[port] : nullptr; };
    const ReferenceView &weight = in[rounding_port::weight], &exact = in[rounding_port::exact];
    const ReferenceView* const lost = given(rounding_port::compensation);
    const ReferenceView* const key = given(rounding_port::random_key);
    const bool applied = in[rounding_port::applied][0] != 0, compensated = lost && lost->present();
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      if (!applied) {
        out[0].copy(i, weight, i);
        if (compensated) out[1].copy(i, *lost, i);
        continue;
      }
      out[0].set(i, rounded_weight(exact[i], i, weight.dtype(), key));
      if (compensated) out[1].set(i, exact[i] - out[0][i]);
    }
  });
}

constexpr Kernel round_weight_kernels[] = {{"rows", offer_round_weight_rows},
                                           {"reference", round_weight_reference}};

}  // namespace

std::span<const Kernel> RoundWeight::kernels() { return round_weight_kernels; }

}  // namespace narrowgauge

NG_OPS(round_weight, narrowgauge::RoundWeight)
NG_NO_GRADIENT(round_weight, "update of weights", narrowgauge::RoundWeight)
