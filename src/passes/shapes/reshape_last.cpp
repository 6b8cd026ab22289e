// SPDX-License-Identifier: Apache-2.0
#include "passes/shapes/reshape_last.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ir/readers.h"
#include "ops/axes/axes.h"
#include "ops/pointwise/cast.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/shape/reshape.h"
#include "ops/shape/views.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

class ReshapeLast {
 public:
  explicit ReshapeLast(const Graph& graph) : graph_(graph), readers_(graph) {}

  Graph run() {
    std::map<int, int> reshapes;  // by the last op that goes before each
    std::set<int> moved;
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      const std::vector<int> ops = ops_behind(i);
      if (ops.empty()) continue;
      reshapes[ops.back()] = i;
      moved.insert(i);
    }
    if (moved.empty()) return graph_;
    Rebuild rebuild(graph_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (moved.contains(i))
        rebuild.map({i, 0}, rebuild.mapped(graph_.node(i).inputs[0]));
      else
        rebuild.copy(i);
      if (const auto at = reshapes.find(i); at != reshapes.end()) reshape(rebuild, at->second, i);
    }
    return rebuild.finish();
  }

 private:
  // The ops that only the Reshape's result goes through, up to the last that is no Cast; none if
  // this is no Reshape of what a contraction gives.
  std::vector<int> ops_behind(int index) const {
    const Node& node = graph_.node(index);
    if (!node.is<Reshape>() && !node.is<ReshapeTo>()) return {};
    if (!is_contraction(before_float_casts(graph_, node.inputs[0]))) return {};
    std::vector<int> ops;
    for (int next = readers_.only({index, 0}); next >= 0 && is_elementwise(node, next);
         next = readers_.only({next, 0}))
      ops.push_back(next);
    while (!ops.empty() && (graph_.node(ops.back()).is<Cast>() || leaves(ops.back())))
      ops.pop_back();
    return ops;
  }

  bool is_contraction(Value value) const {
    return graph_.producer(value).op->info.fusion == Fusion::contraction;
  }

  bool leaves(int index) const { return readers_.leaves({index, 0}); }

  // Whether the op computes each value from that of its first input and from numbers, whatever the
  // shape is.
  bool is_elementwise(const Node& reshape, int index) const {
    const Node& node = graph_.node(index);
    if (node.outputs.size() != 1 || node.op->info.random) return false;
    if (!node.op->elementwise && !quantization(graph_, node)) return false;
    const std::size_t rank = graph_.type(reshape.inputs[0]).shape.size();
    return !node.inputs[0].is_absent() &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](Value input) {
             if (input.is_absent()) return true;
             const Shape& shape = graph_.type(input).shape;
             return is_one(shape) && shape.size() <= rank;
           });
  }

  // Gives what the last op computes its shape.
  void reshape(Rebuild& rebuild, int index, int last) const {
    const Node& node = graph_.node(index);
    Values inputs = rebuild.mapped(node.inputs);
    inputs[0] = rebuild.mapped({last, 0});
    NodeOptions options = options_of(node);
    options.storages.clear();
    rebuild.map({last, 0}, rebuild.graph().add(*node.op, node.attributes, inputs, options));
  }

  const Graph& graph_;
  const Readers readers_;
};

}  // namespace

Graph reshape_last(const Graph& graph) {
  return only_predicts(graph) ? ReshapeLast(graph).run() : graph;
}

}  // namespace narrowgauge
