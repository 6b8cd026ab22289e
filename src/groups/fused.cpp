// SPDX-License-Identifier: Apache-2.0
#include "groups/fused.h"

#include "base/enumerate.h"
#include "base/unloading.h"
#include "groups/finished.h"
#include "groups/group.h"
#include "ops/activation/relu.h"
#include "ops/control/interpret.h"
#include "ops/elementwise/strip_program.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

DType inside_dtype(DType outside) {
  const bool byte = outside == DType::u8 || outside == DType::i8;
  return byte || (is_floating(outside) && outside != DType::f64) ? DType::f32 : outside;
}

namespace {

std::vector<DType> parse_dtypes(const std::string& text) {
  std::vector<DType> dtypes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const auto dtype = parse_dtype(std::string_view(text).substr(begin, comma - begin));
    require(dtype.has_value(), "Fused: unknown dtype in '", text, "'");
    dtypes.push_back(*dtype);
    begin = comma + 1;
  }
  return dtypes;
}

}  // namespace

TensorTypes Fused::infer(const Inference& in) const {
  require(body != nullptr, "Fused: has no body");
  require(in.count() == std::ssize(body->inputs()), "Fused: its body takes ", body->inputs().size(),
          " inputs, got ", in.count());
  for (const auto& [i, input] : enumerate(body->inputs())) {
    const TensorType& inside = body->type(input);
    require(in.has(i) && inside.shape == in.shape(i) && inside.dtype == inside_dtype(in.dtype(i)),
            "Fused: input ", i, " of the body is ", inside);
  }
  const std::vector<DType> stored = parse_dtypes(dtypes);
  require(stored.size() == body->outputs().size(), "Fused: ", stored.size(), " dtypes for ",
          body->outputs().size(), " outputs");
  TensorTypes types;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const TensorType& inside = body->type(body->outputs()[i].value);
    require(inside.dtype == inside_dtype(stored[i]), "Fused: output ", i, " of the body is ",
            inside.dtype, ", stored as ", stored[i]);
    types.push_back({stored[i], inside.shape});
  }
  return types;
}

double Fused::flops(std::span<const TensorType>, std::span<const TensorType>) const {
  double total = 0;
  for (const Node& node : body->nodes()) {
    if (!node.op->flops) continue;
    TensorTypes inputs, outputs;
    for (const Value& value : node.inputs)
      inputs.push_back(value.is_absent() ? TensorType{} : body->type(value));
    for (const ValueInfo& output : node.outputs) outputs.push_back(output.type);
    total += node.op->flops(node.attributes.get(), inputs, outputs);
  }
  return total;
}

namespace {

Offer offer_strips(const Request& request) {
  return offer_strip_program(request, StripProgram::of_body(*request.as<Fused>().body));
}

Tensor read_all(const ReferenceView& view, const TensorType& type) {
  Tensor tensor(type.dtype, known_dims(type.shape));
  load(view, tensor);
  return tensor;
}

// Interprets the body node by node.
Offer offer_interpreted(const Request& request) {
  const Region body = request.as<Fused>().body;
  Offer offer =
      reference_offer(request, [body](const auto& in, const auto& out, const KernelCall& call) {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < in.size(); ++i)
          inputs.push_back(read_all(in[i], body->type(body->inputs()[i])));
        InterpretOptions options;
        options.context = call.context;
        const std::vector<Tensor> results = interpret(*body, inputs, options);
        for (std::size_t o = 0; o < out.size(); ++o)
          for (std::int64_t i = 0; i < out[o].size(); ++i) out[o].set(i, results[o].at(i));
      });
  offer.implementation = "interpreted";
  return offer;
}

}  // namespace

std::span<const Kernel> Fused::kernels() {
  static const auto& all = immortal<std::vector<Kernel>>([] {
    std::vector<Kernel> kernels;
    for (const Group& group : group_table()) kernels.push_back({group.name, group.offer});
    kernels.push_back({"strips", offer_strips});
    kernels.push_back({"finished tiles", offer_finished_tiles});
    kernels.push_back({"finished panels", offer_finished_panels});
    kernels.push_back({"finished", offer_finished_onednn});
    kernels.push_back({"interpreted", offer_interpreted});
    return kernels;
  }());
  return all;
}

}  // namespace narrowgauge

NG_OPS(fused, narrowgauge::Fused)
