// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/quantized_average.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/readers.h"
#include "ops/pool/average_pool.h"
#include "ops/quantized/quantized_average_pool.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/reshape.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

struct Average {
  int node;
  QuantizedAveragePool op;
  QuantizedValue x;
  std::optional<QuantizedValue> y;
};

// Whether a mean is over just the axes behind batch and channel.
bool is_spatial(const Graph& graph, const Node& node) {
  const std::size_t rank = graph.type(node.inputs[0]).shape.size();
  if (rank < 3 || rank > 5 || node.inputs.size() < 2 || node.inputs[1].is_absent()) return false;
  const Tensor* const axes = graph.constant_value(node.inputs[1]);
  if (!axes || axes->size() != static_cast<std::int64_t>(rank) - 2) return false;
  std::vector<bool> reduced(rank);
  for (std::int64_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<std::int64_t>(axes->at(i));
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  return !reduced[0] && !reduced[1] &&
         std::count(reduced.begin(), reduced.end(), true) == axes->size();
}

std::optional<QuantizedAveragePool> average_of(const Graph& graph, const Node& node) {
  if (node.is<GlobalAveragePool>()) return QuantizedAveragePool{};
  if (node.is<ReduceMean>() && is_spatial(graph, node)) return QuantizedAveragePool{};
  if (!node.is<AveragePool>()) return {};
  const auto& op = node.as<AveragePool>();
  return QuantizedAveragePool{op.auto_pad,  op.ceil_mode,    op.count_include_pad,
                              op.dilations, op.kernel_shape, op.pads,
                              op.strides};
}

std::optional<Average> find_average(const Graph& graph, const Readers& readers, int index) {
  const Node& node = graph.node(index);
  const auto op = average_of(graph, node);
  const auto x = op ? dequantized(graph, node.inputs[0]) : std::nullopt;
  if (!x) return {};
  Average found{index, *op, *x, {}};
  const int behind = readers.only({index, 0});
  if (behind >= 0) found.y = quantization(graph, graph.node(behind));
  if (!found.y && node.outputs[0].type.dtype != DType::f32) return {};
  return found;
}

// The value that takes the place of the average, or of the QuantizeLinear behind it.
void add_average(Rebuild& rebuild, const Average& found, int last) {
  const Graph& from = rebuild.source();
  const Node& node = from.node(found.node);
  const auto options = [&](const char* part) {
    NodeOptions made = options_of(node);
    made.storages.clear();
    if (made.origin.empty() && (last != found.node || *part != 0))
      made.origin = from.node(last).full_name();
    if (*part != 0) made.name = rebuild.graph().unique_name(concat(node.name, part));
    return made;
  };
  Value y_zero = absent;
  if (found.y) {
    const DType dtype = from.type({last, 0}).dtype;
    y_zero = found.y->zero.is_absent() ? Rewriting{rebuild.graph(), {}, {}}.scalar(0, dtype)
                                       : rebuild.mapped(found.y->zero);
  }
  const Values inputs{rebuild.mapped(found.x.bytes), rebuild.mapped(found.x.scale),
                      rebuild.mapped(found.x.zero),
                      found.y ? rebuild.mapped(found.y->scale) : absent, y_zero};
  const Shape& shape = node.outputs[0].type.shape;
  const bool flat = shape.size() != from.type(node.inputs[0]).shape.size();
  Value made = rebuild.graph().add(found.op, inputs, options(flat ? ".average" : ""));
  if (flat) made = rebuild.graph().add(ReshapeTo{shape}, {made}, options(""));
  rebuild.map({last, 0}, made);
}

}  // namespace

Graph fuse_averages(const Graph& graph) {
  const Readers readers(graph);
  std::map<int, Average> found;  // by the last node
  std::set<int> taken;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    auto average = find_average(graph, readers, i);
    if (!average) continue;
    taken.insert(i);
    const int last = average->y ? readers.only({i, 0}) : i;
    found.emplace(last, std::move(*average));
  }
  if (found.empty()) return graph;
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const auto here = found.find(i);
    if (here != found.end())
      add_average(rebuild, here->second, i);
    else if (!taken.contains(i))
      rebuild.copy(i);
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
