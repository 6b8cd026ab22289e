// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/dropout.h"

#include "base/random.h"
#include "kernels/cpu/core/random_fill.h"
#include "narrowgauge/graph.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// Checks the settings among the inputs of Dropout (from 1) and DropoutGradient (from 2).
void check_settings(const Inference& in, int first) {
  for (int i = first; i < in.count(); ++i)
    require(!in.has(i) || in.rank(i) == 0, in.op_name(), ": ",
            i == first ? "ratio" : "training_mode", " must be a scalar, got ",
            in.has(i) ? in.type(i) : TensorType{});
  const Tensor* ratio = in.has(first) ? in.constant(first) : nullptr;
  require(!ratio || (ratio->at(0) >= 0 && ratio->at(0) < 1), in.op_name(),
          ": ratio must lie in [0, 1), got ", ratio ? ratio->at(0) : 0.0);
}

// Reads the settings at run time.
struct DropoutRun {
  std::int64_t seed;
  std::string name;
  DType ratio_dtype;

  static DropoutRun of(const Request& request) {
    const bool has_ratio = request.inputs.size() > 1 && request.inputs[1].present;
    return {request.as<Dropout>().seed, std::string(request.name),
            has_ratio ? request.inputs[1].dtype : DType::f32};
  }
  // The share of elements that is kept.
  float keep(const KernelCall& call) const {
    if (call.inputs.size() < 3 || !call.inputs[2].data || !*call.inputs[2].as<bool>()) return 1;
    const double ratio =
        call.inputs[1].data ? load_element(ratio_dtype, call.inputs[1].data, 0) : 0.5;
    require(ratio >= 0 && ratio < 1, "node '", name, "': dropout's ratio must lie in [0, 1), got ",
            ratio);
    return static_cast<float>(1 - ratio);
  }
  RandomStream stream(const RunContext& context) const {
    return {seed < 0 ? context.seed : static_cast<std::uint64_t>(seed), name, context.step};
  }
};

Offer dropout_reference(const Request& request) {
  return reference_offer(request, [run = DropoutRun::of(request)](const auto& in, const auto& out,
                                                                  const KernelCall& call) {
    const float keep = run.keep(call);
    const RandomStream stream = run.stream(call.context);
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      const bool kept =
          static_cast<float>(stream.short_bits(static_cast<std::uint64_t>(i))) < keep * 0x1p16F;
      out[0].set(i, kept ? in[0][i] / double{keep} : 0);
      if (out.size() > 1) out[1].set(i, kept);
    }
  });
}

// Only row-major arrays are taken: the mask depends on an element's logical position.
Offer offer_dropout_rows(const Request& request) {
  for (const auto operands : {request.inputs.first(1), request.outputs}) {
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      if (!operand.storage.is_plain() || operand.strides != dense_strides(operand.dims))
        return Offer::decline("elements do not lie in their logical order");
    }
  }
  if (!request.outputs[0].present) return Offer::decline("only the mask is read");
  const DType dtype = request.inputs[0].dtype;
  if (!is_f32_or_narrow(dtype)) return Offer::decline(concat("computes in f32, not in ", dtype));
  Offer offer;
  offer.in_place = {{0, 0}};
  offer.run = [run = DropoutRun::of(request), dtype,
               count = element_count(request.inputs[0].dims)](const KernelCall& call) {
    cpu::Dropout dropout;
    dropout.count = count;
    dropout.keep = run.keep(call);
    dropout.x = {call.inputs[0].data, dtype};
    dropout.y = {call.outputs[0].data, dtype, 0, call.flushed_at(0)};
    if (call.outputs.size() > 1) dropout.mask = call.outputs[1].as<bool>();
    cpu::dropout(dropout, run.stream(call.context));
  };
  return offer;
}

constexpr Kernel dropout_kernels[] = {{"rows", offer_dropout_rows},
                                      {"reference", dropout_reference}};

}  // namespace

TensorTypes Dropout::infer(const Inference& in) const {
  check_settings(in, 1);
  return {in.type(0), {DType::boolean, in.shape(0)}};
}

std::span<const Kernel> Dropout::kernels() { return dropout_kernels; }

Values Dropout::gradient(Gradient& g) const {
  const Value mask{g.output().node, 1};
  return {g.add(DropoutGradient{}, {g.output_gradient(), mask, g.input(1), g.input(2)}), absent,
          absent};
}

TensorTypes DropoutGradient::infer(const Inference& in) const {
  check_settings(in, 2);
  require(in.shape(0) == in.shape(1), "DropoutGradient: dy and mask must have one shape, got ",
          in.type(0), " and ", in.type(1));
  return {in.type(0)};
}

Values DropoutGradient::gradient(Gradient& g) const {
  Values result(4);
  result[0] = g.add(DropoutGradient{}, {g.output_gradient(), g.input(1), g.input(2), g.input(3)});
  return result;
}

}  // namespace narrowgauge

NG_OPS(dropout, narrowgauge::Dropout, narrowgauge::DropoutGradient)
