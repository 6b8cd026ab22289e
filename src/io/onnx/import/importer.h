// SPDX-License-Identifier: Apache-2.0
// The walk over a model's nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/onnx/import.h"
#include "io/onnx/import/node_import.h"

namespace narrowgauge::onnx {

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options);

  Imported run();

  // Imports the nodes of a graph inside an op, whose inputs the scope has already, and returns what
  // its outputs are.
  Items add_graph(const Graph& graph, Scope& scope);
  // Counts a node, or a round of a loop. ModelError where the model becomes too large.
  void count_node();
  // Adds an op; what depends on constants alone is computed at once. All outputs.
  Values add(Scope& scope, const OpRecord& op, const Attributes& attributes, const Values& inputs,
             const std::string& name);

 private:
  // The opsets that nodes of a graph or function are written for, and a function's attributes.
  struct Body {
    std::map<std::string, std::int64_t> opsets;  // by domain
    std::map<std::string, const Attribute*> attributes{};
    int depth = 0;
  };

  void add_inputs(Scope& scope);
  Item input_of(const ValueInfo& info);
  void add_node(const Node& node, Scope& scope);
  Items items_of(NodeImport& node);
  Item told_apart(const Item& item, int first, NodeImport& node);
  Items call(const Function& function, NodeImport& node);
  Items add_op(NodeImport& node);
  Node with_attributes_of_function(const Node& node) const;
  std::int64_t version_for(const std::string& domain) const;

  const Model& model_;
  const ImportOptions& options_;
  narrowgauge::Graph graph_;
  std::int64_t nodes_ = 0;  // imported so far
  std::map<std::string, const Function*> functions_;
  Body body_;
};

}  // namespace narrowgauge::onnx
