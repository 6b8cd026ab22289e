// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/attention_in_parts.h"

#include <algorithm>

#include "base/enumerate.h"
#include "narrowgauge/tf32.h"
#include "ops/nn/attention.h"
#include "ops/pointwise/cast.h"
#include "passes/core/parts.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

bool is_attention(const Node& node) { return node.is<Attention>() || node.is<AttentionGradient>(); }

Value cast(Graph& graph, Value value, DType to) {
  return graph.type(value).dtype == to ? value : graph.add(Cast{.to = to}, {value});
}

// The primitives of one node as a graph with the node's inputs and outputs. Scores and shares are
// f32, as in the registers of attention's kernels.
Graph attention_parts(const Graph& graph, const Node& node) {
  Graph parts("parts");
  Values inputs;
  for (const auto& [i, value] : enumerate(node.inputs)) {
    inputs.push_back(absent);
    if (value.is_absent()) continue;
    inputs.back() = parts.input(concat("in", i), graph.type(value));
    if (node.op->input_port(i).format == PortFormat::chosen && is_narrow(graph.type(value).dtype))
      inputs.back() = cast(parts, inputs.back(), DType::f32);
  }
  Rewriting rewriting(parts, inputs, {});
  const Values made = node.op->decompose(node.attributes.get(), rewriting);
  for (std::size_t o = 0; o < made.size(); ++o)
    parts.output(concat("out", o), cast(parts, made[o], node.outputs[o].type.dtype));
  return parts;
}

// The math of the parts where values are widened: a unit takes them, and the shares, in the format
// they had.
Math math_of_parts(const Node& node) {
  const DType dtype = node.outputs[0].type.dtype;
  if (!is_simulated(node.math) || operand_format_of(node.math) != UnitFormat::automatic)
    return node.math;
  if (dtype == DType::f16) return simulated(unit_of(node.math), UnitFormat::f16);
  if (dtype == DType::bf16) return simulated(unit_of(node.math), UnitFormat::bf16);
  return node.math;
}

std::vector<std::size_t> present_inputs(const Node& node) {
  std::vector<std::size_t> present;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!node.inputs[i].is_absent()) present.push_back(i);
  return present;
}

}  // namespace

Graph attention_in_parts(const Graph& graph, const Target& target) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (is_attention(node) && rounds_operands(node.math, target))
      add_parts(rebuild, i, attention_parts(graph, node), present_inputs(node),
                math_of_parts(node));
    else
      rebuild.copy(
          i, with_regions(node, [&](const Graph& g) { return attention_in_parts(g, target); }),
          rebuild.mapped(node.inputs));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
