// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/normalized_again.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/normalization/batch_norm.h"
#include "ops/activation/relu.h"
#include "ops/fused/fused_body.h"
#include "ops/nn/batch_normalization.h"

namespace narrowgauge {

std::string NormalizedAgain::reason(const Request& request) const {
  for (const int i : {scale, bias, mean, inverse_std}) {
    std::string found = vector_reason(request.inputs[static_cast<std::size_t>(i)]);
    if (!found.empty()) return found;
  }
  return {};
}

void NormalizedAgain::factors(const KernelCall& call, std::int64_t channels, float* factor,
                              float* constant) const {
  const auto in = [&](int i) { return static_cast<const float*>(data_at(call.inputs, i)); };
  cpu::BatchNormApply norm;
  norm.layout.channels = channels;
  norm.scale = in(scale);
  norm.bias = in(bias);
  norm.inverse_std = in(inverse_std);
  batch_norm_factors(norm, factor, constant);
}

NormalizedAgain match_normalized_again(const Graph& body, std::span<const int> nodes) {
  if (nodes.empty() || !body.node(nodes[0]).is<NormalizeAgain>()) return {};
  const Values& inputs = body.node(nodes[0]).inputs;
  std::array<int, 5> in{};
  std::transform(inputs.begin(), inputs.end(), in.begin(),
                 [&](Value value) { return input_index(body, value); });
  if (*std::min_element(in.begin(), in.end()) < 0) return {};
  NormalizedAgain again{in[0], in[1], in[2], in[3], in[4], false, {nodes[0], 0}, 1};
  if (nodes.size() < 2) return again;
  const Node& relu = body.node(nodes[1]);
  again.relu = relu.is<Relu>() && relu.inputs[0] == again.value;
  if (again.relu) {
    again.value = {nodes[1], 0};
    again.length = 2;
  }
  return again;
}

}  // namespace narrowgauge
