// SPDX-License-Identifier: Apache-2.0
// One graph, or a region of a node, as a graph of ONNX.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/onnx/export/opset.h"
#include "io/onnx/model.h"
#include "ir/value_table.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// What the graphs of a model share.
struct ModelExport {
  const std::map<std::string, Tensor>& states;
  std::set<std::string> names{};  // of values, unique in all graphs
  std::int64_t opset = oldest_written_opset;
  std::set<std::string> domains{};  // of ops of the program

  std::string unique_name(const std::string& base);
};

class GraphExport {
 public:
  // `captured`: names of the outer values that the last inputs of a region stand for.
  GraphExport(ModelExport& model, const narrowgauge::Graph& graph,
              const std::vector<std::string>& captured = {});
  Graph run();

 private:
  void name_inputs(const std::vector<std::string>& captured);
  void name_outputs();
  void add_node(int index, const narrowgauge::Node& node);
  void add_state(const narrowgauge::Node& node);
  void add_constant(int index, const narrowgauge::Node& node);
  void add_op(int index, const narrowgauge::Node& node);
  void add_regions(const narrowgauge::Node& node, Node& made);
  void add_identity(const std::string& from, const std::string& to);
  std::vector<std::string> output_names(int index, const narrowgauge::Node& node);
  std::vector<DType> dtypes_of(const narrowgauge::Node& node) const;
  std::string name_of(Value value) const { return value.is_absent() ? "" : names_[value]; }
  ValueInfo info_of(const std::string& name, const TensorType& type) const;

  ModelExport& model_;
  const narrowgauge::Graph& graph_;
  ValueTable<std::string> names_;
  std::set<Value> used_;              // by nodes, or as outputs
  std::set<Value> learnt_;            // used where gradients flow
  std::vector<std::string> outputs_;  // names, in the order of the graph's
  Graph result_;
};

}  // namespace narrowgauge::onnx
