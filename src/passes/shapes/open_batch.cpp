// SPDX-License-Identifier: Apache-2.0
#include "passes/shapes/open_batch.h"

#include <algorithm>

#include "ops/shape/views.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

// The first size that all inputs have; 0 where there is none.
std::int64_t common_batch(const Graph& graph) {
  std::int64_t batch = 0;
  for (const Value input : graph.inputs()) {
    const Shape& shape = graph.type(input).shape;
    if (shape.empty() || !shape[0].is_known()) return 0;
    if (batch != 0 && shape[0].value() != batch) return 0;
    batch = shape[0].value();
  }
  return batch;
}

class BatchOpener {
 public:
  BatchOpener(const Graph& source, std::int64_t batch) : rebuild_(source), batch_(batch) {}

  Graph run() {
    const Graph& source = rebuild_.source();
    for (int i = 0; i < static_cast<int>(source.nodes().size()); ++i) {
      const Node& node = source.node(i);
      if (node.is<Input>())
        open_input(i);
      else if (node.is<Reshape>() && has_fixed_shape(node))
        reshape(i);
      else
        rebuild_.copy(i);
    }
    return rebuild_.finish();
  }

 private:
  void open_input(int index) {
    TensorType type = rebuild_.source().type({index, 0});
    type.shape[0] = Dim::symbol("N");
    rebuild_.map({index, 0}, rebuild_.graph().input(rebuild_.source().node(index).name, type));
  }

  // Whether what is reshaped has got an open size, and the shape is known.
  bool has_fixed_shape(const Node& node) {
    return !is_known(rebuild_.graph().type(rebuild_.mapped(node.inputs[0])).shape) &&
           rebuild_.source().known_numbers(node.inputs[1]);
  }

  // The first size is that of the input (0) where both are the batch, else what is left (-1).
  void open(Dims& shape, const Shape& before) const {
    if (shape.empty() || shape[0] <= 0 || shape[0] % batch_ != 0) return;
    if (shape[0] == batch_ && !before.empty() && before[0] == Dim(batch_))
      shape[0] = 0;
    else if (std::ranges::find(shape, -1) == shape.end())
      shape[0] = -1;
  }

  void reshape(int index) {
    const Graph& source = rebuild_.source();
    const Node& node = source.node(index);
    const Tensor stated = *source.known_numbers(node.inputs[1]);
    Dims shape;
    for (std::int64_t i = 0; i < stated.size(); ++i)
      shape.push_back(static_cast<std::int64_t>(stated.at(i)));
    const bool empty = node.as<Reshape>().allowzero != 0 && std::ranges::count(shape, 0) > 0;
    if (!empty) open(shape, source.type(node.inputs[0]).shape);
    const Value target =
        rebuild_.graph().constant(Tensor::from<std::int64_t>({std::ssize(shape)}, shape));
    rebuild_.copy(index, Attributes::of(Reshape{.allowzero = empty ? 1 : 0}),
                  {rebuild_.mapped(node.inputs[0]), target});
  }

  Rebuild rebuild_;
  std::int64_t batch_;
};

}  // namespace

Graph with_open_batch(const Graph& graph) {
  const std::int64_t batch = common_batch(graph);
  return batch > 0 ? BatchOpener(graph, batch).run() : graph;
}

}  // namespace narrowgauge
