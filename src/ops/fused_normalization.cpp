// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_normalization.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/cpu.h"
#include "kernels/cpu/batch_norm.h"
#include "ops/arithmetic.h"
#include "ops/batch_inner.h"
#include "ops/batch_normalization.h"
#include "ops/channels.h"
#include "ops/fused.h"
#include "ops/relu.h"

namespace narrowgauge {

namespace {

// Which of the group's operands is which; -1: none.
struct Pattern {
  BatchNormalization op;
  std::array<int, 5> inputs{};  // x, scale, bias, mean, variance
  int other = -1;
  int y = -1;
  std::array<int, 4> statistics{-1, -1, -1, -1};  // running mean and variance, mean, inverse_std
};

int input_index(const Graph& body, Value value) {
  const Values& inputs = body.inputs();
  const auto found = std::find(inputs.begin(), inputs.end(), value);
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

// The nodes of a body that are no inputs.
std::vector<int> working_nodes(const Graph& body) {
  std::vector<int> nodes;
  for (int i = 0; i < static_cast<int>(body.nodes().size()); ++i)
    if (!body.node(i).is<Input>()) nodes.push_back(i);
  return nodes;
}

std::optional<Pattern> match(const Graph& body) {
  const std::vector<int> nodes = working_nodes(body);
  if (nodes.size() < 2 || nodes.size() > 3) return {};
  const Node &norm = body.node(nodes.front()), &relu = body.node(nodes.back());
  if (!norm.is<BatchNormalization>() || !relu.is<Relu>()) return {};
  Pattern pattern{.op = norm.as<BatchNormalization>()};
  for (std::size_t i = 0; i < 5; ++i) {
    pattern.inputs[i] = input_index(body, norm.inputs[i]);
    if (pattern.inputs[i] < 0) return {};
  }
  Value last{nodes.front(), 0};
  if (nodes.size() == 3) {
    const Node& add = body.node(nodes[1]);
    if (!add.is<Add>() || (add.inputs[0] == last) == (add.inputs[1] == last)) return {};
    pattern.other = input_index(body, add.inputs[add.inputs[0] == last ? 1 : 0]);
    if (pattern.other < 0) return {};
    last = {nodes[1], 0};
  }
  if (!(relu.inputs[0] == last)) return {};
  for (int o = 0; o < static_cast<int>(body.outputs().size()); ++o) {
    const Value value = body.outputs()[static_cast<std::size_t>(o)].value;
    if (value == Value{nodes.back(), 0})
      pattern.y = o;
    else if (value.node == nodes.front() && value.output > 0)
      pattern.statistics[static_cast<std::size_t>(value.output - 1)] = o;
    else
      return {};
  }
  return pattern.y < 0 ? std::nullopt : std::optional(pattern);
}

std::string operand_reason(const Request& request, const Pattern& pattern) {
  if (isa() != Isa::amx) return concat("vectors of bf16 need amx, this is ", name(isa()));
  if (pattern.op.training_mode == 0) return "not in training";
  const auto image = [](const Operand& operand) {
    return lies_batch_inner(operand) && operand.dtype == DType::bf16;
  };
  const auto vector = [](const Operand& operand) {
    return operand.dtype == DType::f32 && operand.strides == Dims{1};
  };
  for (int i = 0; i < static_cast<int>(request.inputs.size()); ++i) {
    const Operand& operand = request.inputs[static_cast<std::size_t>(i)];
    const bool is_image = i == pattern.inputs[0] || i == pattern.other;
    if (is_image ? !image(operand) : !vector(operand))
      return concat("input ", i, " of ", operand.dtype, " in ", operand.storage);
    if (is_image && operand.dims != request.outputs[static_cast<std::size_t>(pattern.y)].dims)
      return "images are broadcast";
  }
  for (int o = 0; o < static_cast<int>(request.outputs.size()); ++o) {
    const Operand& operand = request.outputs[static_cast<std::size_t>(o)];
    if (operand.present && (o == pattern.y ? !image(operand) : !vector(operand)))
      return concat("output ", o, " of ", operand.dtype, " in ", operand.storage);
  }
  if (!request.outputs[static_cast<std::size_t>(pattern.y)].present) return "nobody reads y";
  return {};
}

void normalize(const Pattern& pattern, const SharedChannels& shared, const KernelCall& call) {
  const std::int64_t channels = shared.layout.channels;
  FloatVectors floats(channels, call.workspace);
  const auto in = [&](std::size_t i) {
    return call.inputs[static_cast<std::size_t>(pattern.inputs[i])].as<const float>();
  };
  const auto out = [&](std::size_t i) {
    const int o = pattern.statistics[i];
    float* given = o < 0 ? nullptr : call.outputs[static_cast<std::size_t>(o)].as<float>();
    return given ? given : floats.scratch();
  };
  cpu::BatchNormApply norm;
  norm.layout = shared.layout;
  norm.x = {call.inputs[static_cast<std::size_t>(pattern.inputs[0])].data, DType::bf16};
  norm.y = {call.outputs[static_cast<std::size_t>(pattern.y)].data, DType::bf16};
  if (pattern.other >= 0)
    norm.other = {call.inputs[static_cast<std::size_t>(pattern.other)].data, DType::bf16};
  norm.relu = true;
  norm.scale = in(1);
  norm.bias = in(2);
  cpu::BatchStatistics statistics;
  statistics.mean = out(2);
  statistics.inverse_std = out(3);
  statistics.variance = floats.scratch();
  cpu::batch_norm_train(norm, static_cast<float>(pattern.op.epsilon), statistics,
                        call.workspace + FloatVectors::bytes(channels, 5));
  cpu::update_running_statistics({channels, static_cast<float>(pattern.op.momentum),
                                  statistics.mean, statistics.variance, in(3), in(4), out(0),
                                  out(1)});
}

}  // namespace

Offer offer_fused_normalization(const Request& request) {
  const auto pattern = match(*request.as<Fused>().body);
  if (!pattern) return Offer::decline("no normalization with a Relu");
  std::string reason = operand_reason(request, *pattern);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const SharedChannels shared =
      shared_channels({&request.inputs[static_cast<std::size_t>(pattern->inputs[0])]});
  Offer offer;
  offer.implementation = "normalize, f32 statistics";
  offer.workspace =
      FloatVectors::bytes(shared.layout.channels, 5) + cpu::batch_norm_workspace(shared.layout);
  if (pattern->other >= 0) offer.in_place = {{pattern->other, pattern->y}};
  offer.run = [pattern = *pattern, shared](const KernelCall& call) {
    normalize(pattern, shared, call);
  };
  return offer;
}

}  // namespace narrowgauge
