// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/fake_quantization.h"

#include "ops/quantized/fake_quantize.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

// The QuantizeLinear that a node undoes; nullptr if it undoes none, or one of another kind.
const Node* undone(const Graph& graph, const Node& node) {
  if (!node.is<DequantizeLinear>() || node.outputs[0].type.dtype != DType::f32) return nullptr;
  const Node& before = graph.producer(node.input(0));
  if (!before.is<QuantizeLinear>()) return nullptr;
  const auto& back = node.as<DequantizeLinear>();
  const auto& there = before.as<QuantizeLinear>();
  const DType whole = before.outputs[0].type.dtype;
  const bool alike = before.input(1) == node.input(1) &&
                     input_or_absent(before, 2) == input_or_absent(node, 2) &&
                     there.axis == back.axis && there.block_size == 0 && back.block_size == 0;
  const bool fits = (whole == DType::u8 || whole == DType::i8) &&
                    graph.type(before.input(0)).dtype == DType::f32 &&
                    graph.type(before.input(1)).dtype == DType::f32 &&
                    graph.type(before.input(1)).shape.size() <= 1;
  return alike && fits ? &before : nullptr;
}

}  // namespace

Graph with_fake_quantization(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    const Node* const before = undone(graph, node);
    if (!before || !is_known(graph.type(node.input(1)).shape)) {
      rebuild.copy(i);
      continue;
    }
    Value zero = input_or_absent(*before, 2);
    if (zero.is_absent())
      zero = rebuild.graph().constant(
          Tensor(before->outputs[0].type.dtype, known_dims(graph.type(node.input(1)).shape)));
    else
      zero = rebuild.mapped(zero);
    NodeOptions options = options_of(node);
    options.file_nodes = nodes_in_file(*before);
    for (FileNode& each : nodes_in_file(node)) options.file_nodes.push_back(std::move(each));
    rebuild.map({i, 0}, rebuild.graph().add(
                            FakeQuantize{node.as<DequantizeLinear>().axis},
                            {rebuild.mapped(before->input(0)), rebuild.mapped(node.input(1)), zero},
                            std::move(options)));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
