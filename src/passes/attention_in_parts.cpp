// SPDX-License-Identifier: Apache-2.0
#include "passes/attention_in_parts.h"

#include <algorithm>

#include "narrowgauge/tf32.h"
#include "ops/math/cast.h"
#include "ops/nn/attention.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

bool is_attention(const Node& node) { return node.is<Attention>() || node.is<AttentionGradient>(); }

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

Value cast(Graph& graph, Value value, DType to) {
  return graph.type(value).dtype == to ? value : graph.add(Cast{.to = to}, {value});
}

// The primitives of one node as a graph with the node's inputs and outputs. Scores and shares are
// f32, as in the registers of attention's kernels.
Graph parts_of(const Graph& graph, const Node& node) {
  Graph parts("parts");
  Values inputs;
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const Value value = node.inputs[static_cast<std::size_t>(i)];
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

// For widened values: a unit takes them, and the shares, in the format they had.
Math math_of_parts(const Node& node) {
  const DType dtype = node.outputs[0].type.dtype;
  if (!is_simulated(node.math) || operand_format_of(node.math) != UnitFormat::automatic)
    return node.math;
  if (dtype == DType::f16) return simulated(unit_of(node.math), UnitFormat::f16);
  if (dtype == DType::bf16) return simulated(unit_of(node.math), UnitFormat::bf16);
  return node.math;
}

// The part that computes the first output gets the node's own name.
void add_parts(Rebuild& rebuild, int index) {
  const Node& node = rebuild.source().node(index);
  const Graph parts = parts_of(rebuild.source(), node);
  Values made;  // the first output of each part in the new graph
  const auto mapped = [&](Value value) {
    if (value.is_absent()) return absent;
    const Value first = made[static_cast<std::size_t>(value.node)];
    return Value{first.node, first.output + value.output};
  };
  std::size_t next_input = 0;
  for (const Node& part : parts.nodes()) {
    if (part.is<Input>()) {
      while (node.inputs[next_input].is_absent()) ++next_input;
      made.push_back(rebuild.mapped(node.inputs[next_input++]));
      continue;
    }
    NodeOptions options = options_of(node);
    options.storages.clear();
    const bool first = parts.outputs()[0].value.node == static_cast<int>(made.size());
    if (!first) options.name = concat(node.name, '/', part.name);
    if (options.origin.empty() && !first) options.origin = node.full_name();
    options.math = part.op->info.fusion == Fusion::contraction ? math_of_parts(node) : Math::none;
    Values inputs;
    for (const Value& value : part.inputs) inputs.push_back(mapped(value));
    made.push_back(rebuild.graph().add(*part.op, part.attributes, inputs, std::move(options)));
  }
  for (std::size_t o = 0; o < parts.outputs().size(); ++o)
    rebuild.map({index, static_cast<int>(o)}, mapped(parts.outputs()[o].value));
}

}  // namespace

Graph attention_in_parts(const Graph& graph, const Target& target) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (is_attention(node) && rounds_operands(node.math, target))
      add_parts(rebuild, i);
    else
      rebuild.copy(
          i, with_regions(node, [&](const Graph& g) { return attention_in_parts(g, target); }),
          rebuild.mapped(node.inputs));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
