// SPDX-License-Identifier: Apache-2.0
// One node of an ONNX graph on its way into a graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/onnx/import/scope.h"
#include "io/onnx/model.h"

namespace narrowgauge::onnx {

class Importer;

class NodeImport {
 public:
  // `version` is that of the opset that the node is written for.
  NodeImport(Importer& importer, Scope& scope, Node node, std::int64_t version);

  Importer& importer() { return importer_; }
  Scope& scope() { return scope_; }
  narrowgauge::Graph& graph() { return scope_.graph(); }
  const Node& node() const { return node_; }
  const std::string& name() const;  // or that of its first output, where it has none
  std::int64_t version() const { return version_; }
  void rename(std::string op_type) { node_.op_type = std::move(op_type); }

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int input) const;
  bool reads_texts();                           // whether an input is of texts
  Item item(int input, bool constant = false);  // nothing where it is absent
  // The value of an input, absent where that is; throws ModelError for a sequence.
  Value value(int input, bool constant = false);
  // The value of an input; throws ModelError for a sequence, and where it is absent.
  Value needed(int input);
  const TensorType& type(int input) { return graph().type(needed(input)); }
  // The value, where it is known. UnknownValueError else.
  const Tensor& constant(int input);
  void set_input(int input, Value value);
  void remove_inputs_from(int first) { inputs_.resize(static_cast<std::size_t>(first)); }

  // The attribute, which the node then lacks; nothing where it has none. ModelError if it holds
  // something else than T, one of the alternatives of AttributeValue.
  template <class T>
  std::optional<T> take(std::string_view name) {
    const T* const found = node_.get<T>(name);
    if (!found) return {};
    std::optional<T> value = *found;
    drop(name);
    return value;
  }
  void drop(std::string_view name);
  void set(std::string_view name, AttributeValue value);

  // Adds an op, and computes it where it depends on constants alone. The op that the node is, or
  // that it quantises (Add of QLinearAdd), has its name. The first output.
  template <Op T>
  Value add(T op, const Values& inputs) {
    return add(record_of<T>(), Attributes::of(std::move(op)), inputs).at(0);
  }
  // Adds an op in the same way, and gives all of its outputs.
  Values add(const OpRecord& op, const Attributes& attributes, const Values& inputs);
  Value constant(Tensor tensor) { return graph().constant(std::move(tensor)); }
  Value list(const Dims& values);  // as a constant i64[n]

 private:
  struct InputOfNode {
    std::string name;     // "" where absent, or where a conversion made the value
    Value made = absent;  // by a conversion
  };

  Importer& importer_;
  Scope& scope_;
  Node node_;
  std::int64_t version_;
  std::vector<InputOfNode> inputs_;
};

}  // namespace narrowgauge::onnx
