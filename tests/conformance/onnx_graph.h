// SPDX-License-Identifier: Apache-2.0
// Runs an ONNX graph with the ops of this program, found by name in its table and given their
// attributes by name.
#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/onnx/model.h"
#include "narrowgauge/graph.h"
#include "ops/control/interpret.h"
#include "ops/table.h"

namespace narrowgauge::testing {

// Something of ONNX that this program has no counterpart for: dtypes, sequences, ops.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline DType dtype_of_onnx(onnx::DataType type) {
  const onnx::DataTypeFacts* const facts = onnx::facts_of(type);
  if (!facts || !facts->dtype) throw Unsupported("dtype " + onnx::name_of(type));
  return *facts->dtype;
}

inline Tensor tensor_from(const onnx::TensorData& tensor) {
  dtype_of_onnx(tensor.data_type);
  return onnx::tensor_of(tensor);
}

// Writes a node's attributes into an op; those that the node lacks keep the op's defaults.
class AttributeFiller : public AttributeVisitor {
 public:
  explicit AttributeFiller(const onnx::Node& node) : node_(node) {}

  void operator()(std::string_view key, bool& value) override {
    if (const auto* found = find<std::int64_t>(key)) value = *found != 0;
  }
  void operator()(std::string_view key, std::int64_t& value) override {
    if (const auto* found = find<std::int64_t>(key)) value = *found;
  }
  void operator()(std::string_view key, double& value) override {
    if (const auto* found = find<float>(key)) value = *found;
  }
  void operator()(std::string_view key, std::string& value) override {
    if (const auto* found = find<std::string>(key)) value = *found;
  }
  void operator()(std::string_view key, DType& value) override {
    if (const auto* found = find<std::int64_t>(key))
      value = dtype_of_onnx(static_cast<onnx::DataType>(*found));
  }
  void operator()(std::string_view key, Dims& value) override {
    if (const auto* found = find<Dims>(key)) value = *found;
  }
  void operator()(std::string_view key, Shape& value) override {
    if (const auto* found = find<Dims>(key)) value.assign(found->begin(), found->end());
  }
  void operator()(std::string_view key, Tensor& value) override {
    if (const auto* found = find<onnx::Box<onnx::TensorData>>(key)) value = tensor_from(**found);
  }
  void operator()(std::string_view, TensorType&) override { throw Unsupported("a type"); }
  void operator()(std::string_view, Region&) override { throw Unsupported("graphs inside ops"); }

  void check_all_used() const {
    for (const onnx::Attribute& attribute : node_.attributes)
      require(used_.contains(attribute.name), node_.op_type, ": the op has no attribute '",
              attribute.name, "'");
  }

 private:
  template <class T>
  const T* find(std::string_view key) {
    used_.emplace(key);
    return node_.get<T>(key);
  }

  const onnx::Node& node_;
  std::set<std::string> used_;
};

// Which of the graph's inputs are known while it is built. Many ops need their shapes, axes and
// the like then.
enum class Known { none, all_but_first, all };

class OnnxRun {
 public:
  OnnxRun(const onnx::Graph& onnx, Known known, bool reference)
      : onnx_(onnx), known_(known), reference_(reference) {}

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    for (const onnx::TensorData& tensor : onnx_.initializers)
      values_[tensor.name] = graph_.constant(tensor_from(tensor));
    std::vector<Tensor> fed;
    require(inputs.size() <= onnx_.inputs.size(), "more tensors than inputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool constant = known_ == Known::all || (known_ == Known::all_but_first && i > 0);
      Value& value = values_[onnx_.inputs[i].name];
      value = constant ? graph_.constant(inputs[i])
                       : graph_.input(concat("input", i), inputs[i].type());
      if (!constant) fed.push_back(inputs[i]);
    }
    for (const onnx::Node& node : onnx_.nodes) add(node);
    for (std::size_t i = 0; i < onnx_.outputs.size(); ++i)
      graph_.output(concat("output", i), value_of(onnx_.outputs[i].name));
    return interpret(graph_, fed, {.reference = reference_});
  }

 private:
  Value value_of(const std::string& key) const {
    if (key.empty()) return absent;
    const auto found = values_.find(key);
    require(found != values_.end(), "nothing makes the value '", key, "'");
    return found->second;
  }

  void add(const onnx::Node& node) {
    if (node.full_name() == "Constant") {
      values_[node.outputs.at(0)] = graph_.constant(constant_of(node));
      return;
    }
    const OpRecord* op = op_table().find(node.full_name());
    if (!op) throw Unsupported("op " + node.full_name());
    Attributes attributes = op->make_default();
    AttributeFiller filler(node);
    op->visit(attributes.mutate(), filler);
    filler.check_all_used();
    Values inputs;
    bool foldable = true;
    for (const std::string& key : node.inputs) {
      inputs.push_back(value_of(key));
      foldable = foldable && (inputs.back().is_absent() || graph_.constant_value(inputs.back()));
    }
    const Values made = foldable ? fold(*op, attributes, inputs)
                                 : outputs_of(graph_, graph_.add(*op, attributes, inputs));
    require(made.size() >= node.outputs.size(), node.op_type, ": has ", made.size(), " outputs, ",
            node.outputs.size(), " are expected");
    for (std::size_t o = 0; o < node.outputs.size(); ++o) values_[node.outputs[o]] = made[o];
  }

  static Values outputs_of(const Graph& graph, Value first) {
    Values outputs;
    for (std::size_t o = 0; o < graph.producer(first).outputs.size(); ++o)
      outputs.push_back({first.node, static_cast<int>(o)});
    return outputs;
  }

  // Runs a node of constants, so that what it makes is known to the nodes after it.
  Values fold(const OpRecord& op, const Attributes& attributes, const Values& inputs) {
    Graph alone;
    Values constants;
    for (const Value value : inputs)
      constants.push_back(value.is_absent() ? absent
                                            : alone.constant(*graph_.constant_value(value)));
    for (const Value value : outputs_of(alone, alone.add(op, attributes, constants)))
      alone.output(concat("output", value.output), value);
    Values folded;
    for (const Tensor& tensor : interpret(alone, {}, {.reference = reference_}))
      folded.push_back(graph_.constant(tensor));
    return folded;
  }

  static Tensor constant_of(const onnx::Node& node) {
    require(node.attributes.size() == 1, "Constant: one attribute is expected");
    const std::string& key = node.attributes[0].name;
    if (const auto* value = node.get<onnx::Box<onnx::TensorData>>("value"))
      return tensor_from(**value);
    if (const auto* value = node.get<std::int64_t>("value_int"))
      return Tensor::from<std::int64_t>({}, {*value});
    if (const auto* value = node.get<float>("value_float"))
      return Tensor::from<float>({}, {*value});
    if (const auto* values = node.get<Dims>("value_ints"))
      return Tensor::from<std::int64_t>({std::ssize(*values)}, *values);
    if (const auto* values = node.get<std::vector<float>>("value_floats"))
      return Tensor::from<float>({std::ssize(*values)}, *values);
    throw Unsupported("a constant's " + key);
  }

  const onnx::Graph& onnx_;
  Known known_;
  bool reference_;
  Graph graph_;
  std::map<std::string, Value> values_;
};

}  // namespace narrowgauge::testing
