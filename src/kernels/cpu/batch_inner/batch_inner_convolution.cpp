// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/batch_inner_convolution.h"

#include <algorithm>
#include <memory>

#include "base/machine/cpu.h"
#include "kernels/cpu/batch_inner/batch_inner_weight_gradient.h"
#include "kernels/cpu/batch_inner/tile_convolution.h"
#include "kernels/cpu/convert/convert.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::cpu {

BatchInnerImages batch_inner_images(const Dims& dims, DType dtype) {
  return {dims[0] / 32, dims[2], dims[3], dims[1] / 32, dtype};
}

std::string batch_inner_reason(const BatchInnerConvolution& c, Isa isa) {
  if (std::string reason = tile_isa_reason(isa); !reason.empty()) return reason;
  if (c.x.size() != 4) return "not two spatial axes";
  if (c.window.groups != 1) return concat(c.window.groups, " groups");
  for (const std::int64_t size : {c.x[0], c.x[1], c.y[1]})
    if (size == 0 || size % 32 != 0)
      return concat("blocks hold 32 images and channels, x is ", c.x, ", y ", c.y);
  return parameter_reason(c);
}

std::string parameter_reason(const BatchInnerConvolution& c) {
  if (!is_f32_or_narrow(c.image)) return concat("images of ", c.image);
  const bool wide_weight = c.pass == ConvolutionPass::weight_gradient && c.weight == DType::f32;
  if (c.weight != c.image && !wide_weight) return concat("weights of ", c.weight);
  if (c.bias && c.bias != c.image && c.bias != DType::f32) return concat("bias of ", *c.bias);
  return {};
}

void load_bias(std::optional<DType> dtype, const void* given, std::int64_t channels, float* bias) {
  if (dtype)
    widen_row(*dtype, given, bias, channels);
  else
    std::fill_n(bias, channels, 0.0F);
}

Prepared prepare_batch_inner_convolution(const BatchInnerConvolution& c) {
  const std::string reason = batch_inner_reason(c, isa());
  require(reason.empty(), "batch-inner convolution: ", reason);
  Prepared prepared;
  prepared.implementation = "amx tiles, batch-inner";
  prepared.facts = tile_facts(c.image);
  if (c.pass == ConvolutionPass::weight_gradient) {
    prepare_batch_inner_weight_gradient(c, prepared);
    return prepared;
  }
  const auto kernel = std::make_shared<const TileConvolution>(c);
  prepared.workspace = kernel->workspace();
  const bool backward = c.pass == ConvolutionPass::data_gradient;
  prepared.run = [kernel, backward](const Call& call) {
    const void* const bias = kernel->has_bias() ? call.inputs[2] : nullptr;
    kernel->run({call.inputs[backward ? 1 : 0], call.inputs[backward ? 0 : 1], bias,
                 call.outputs[0], call.workspace, call.flushed},
                {});
  };
  return prepared;
}

}  // namespace narrowgauge::cpu
