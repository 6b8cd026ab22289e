// SPDX-License-Identifier: Apache-2.0
// The places of a graph, regions included, that get a precision: the type variable T of each node,
// and each value that If, Loop or Scan passes between a node and its regions. The colouring also
// needs the other type variables, whose format is fixed.
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

  // Whether the op exists with T of this dtype: its ports take it, its inference accepts it, only
  // the outputs of type T follow, and one of its kernels computes it.
  bool takes(DType other) const;
  // What the kernels of an op of the program say where none of them computes T of this dtype, which
  // its types take; "" else.
  std::string why_no_kernel(DType other) const;
};

// Why this vertex has no choice of format; empty if it has one.
std::optional<PrecisionRule> nothing_to_choose(const PrecisionVertex& vertex);
// The contract of a contraction whose T has this dtype (empty: its present one); none for others.
Math math_contract(const PrecisionVertex& vertex, std::optional<DType> dtype, Math f32_math);

// The vertices in the graph's order; a region op is followed by its links, then the nodes of its
// regions. Holds pointers into the graph. Throws ModelError if two places get the same name.
std::vector<PrecisionVertex> precision_vertices(const Graph& graph);
// The precision_vertices(), each node followed by a vertex for each other type of its
// floating-point ports (S of a normalization's scale), as TensorFlow colours every type attribute
// of a node. Such a vertex never becomes narrow, but deny reaches it and spreads from it.
std::vector<PrecisionVertex> colouring_vertices(const Graph& graph);

}  // namespace narrowgauge
