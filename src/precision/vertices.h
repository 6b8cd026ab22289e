// SPDX-License-Identifier: Apache-2.0
// The places of a graph, regions included, for which a precision is chosen: the type variable T of
// each node, and each value that If, Loop or Scan passes between a node and its regions. For the
// colouring also the other type variables, whose format is fixed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/precision.h"

namespace narrowgauge {

struct PrecisionVertex {
  enum class Kind { node, link, cast, region, source };
  std::string name;
  Kind kind = Kind::node;
  const Graph* graph = nullptr;
  const Node* node = nullptr;  // of a link: the region op
  std::optional<DType> dtype;  // of T, of the link, or that a cast makes; empty: there is no T
  int owner = -1;              // of a node's ports of another type: the node's own vertex
  std::vector<int> producers, consumers;  // vertices at the other end of its edges
  bool preserved = false;                 // makes an output of the graph or a state's next value
  bool used_otherwise = false;            // by a port without a vertex

  // Whether the op can be had with T of this dtype: its ports take it, its inference accepts it,
  // and exactly the outputs of type T follow.
  bool takes(DType other) const;
};

// Why there is no format to choose for this vertex; empty: there is.
std::optional<PrecisionRule> nothing_to_choose(const PrecisionVertex& vertex);
// The contract of a contraction whose T has this dtype (empty: the one it has); none for others.
Math math_contract(const PrecisionVertex& vertex, std::optional<DType> dtype, Math f32_math);

// In the graph's order; after a region op come its links, then the nodes of its regions. Holds
// pointers into the graph. Throws ModelError when two places get the same name.
std::vector<PrecisionVertex> precision_vertices(const Graph& graph);
// The same, and behind each node a vertex for each other type of its floating-point ports (S of a
// normalization's scale), as TensorFlow colours every type attribute of a node: such a vertex never
// becomes narrow, and what is denied reaches and leaves it.
std::vector<PrecisionVertex> colouring_vertices(const Graph& graph);

}  // namespace narrowgauge
