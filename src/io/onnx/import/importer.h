// SPDX-License-Identifier: Apache-2.0
// The walk over a model's nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/onnx/import.h"
#include "io/onnx/import/node_import.h"

namespace narrowgauge::onnx {

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options);

  Imported run();

  // Imports the nodes of a graph inside the op that is imported now, an attribute of it, whose
  // inputs the scope has already, and returns what its outputs are.
  Items add_graph(const Graph& graph, std::string_view attribute, Scope& scope);
  // Counts a node, or a round of a loop. ModelError where the model becomes too large.
  void count_node();
  // Adds an op, of `name` if it is not taken; what depends on constants alone is computed at once.
  // All outputs.
  Values add(Scope& scope, const OpRecord& op, const Attributes& attributes, const Values& inputs,
             const std::string& name);

 private:
  // The opsets that nodes of a graph or function are written for, and a function's attributes.
  struct Body {
    std::map<std::string, std::int64_t> opsets;  // by domain
    std::map<std::string, const Attribute*> attributes{};
    int depth = 0;
  };

  Values add(Scope& scope, const OpRecord& op, const Attributes& attributes, const Values& inputs,
             NodeOptions options);
  void add_inputs(Scope& scope);
  Item input_of(const ValueInfo& info);
  void add_node(const Node& node, Scope& scope);
  Items items_of(NodeImport& node);
  Item told_apart(const Item& item, int first, NodeImport& node);
  Items call(const Function& function, NodeImport& node);
  Items add_op(NodeImport& node);
  std::string name_like(const std::string& wanted, const narrowgauge::Graph& graph) const;
  Node with_attributes_of_function(const Node& node) const;
  std::int64_t version_for(const std::string& domain) const;

  const Model& model_;
  const ImportOptions& options_;
  narrowgauge::Graph graph_;
  std::int64_t nodes_ = 0;  // imported so far
  std::map<std::string, const Function*> functions_;
  std::set<std::string, std::less<>> names_;  // of all nodes, those inside of nodes too
  Body body_;
  std::string path_;         // of the node that is imported now
  std::string around_path_;  // of what its graph stands in, as it begins paths: "loop1:body:"
};

}  // namespace narrowgauge::onnx
