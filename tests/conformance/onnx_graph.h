// SPDX-License-Identifier: Apache-2.0
// Runs an ONNX graph with the ops of this program, found by name in its table and given their
// attributes by name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/onnx_file.h"
#include "narrowgauge/graph.h"
#include "ops/control/interpret.h"
#include "ops/table.h"

namespace narrowgauge::testing {

// Writes a node's attributes into an op; those that the node lacks keep the op's defaults.
class AttributeFiller : public AttributeVisitor {
 public:
  explicit AttributeFiller(const OnnxNode& node) : node_(node) {}

  void operator()(std::string_view key, bool& value) override {
    if (const OnnxAttribute* found = find(key, 2)) value = found->integer != 0;
  }
  void operator()(std::string_view key, std::int64_t& value) override {
    if (const OnnxAttribute* found = find(key, 2)) value = found->integer;
  }
  void operator()(std::string_view key, double& value) override {
    if (const OnnxAttribute* found = find(key, 1)) value = found->number;
  }
  void operator()(std::string_view key, std::string& value) override {
    if (const OnnxAttribute* found = find(key, 3)) value = found->text;
  }
  void operator()(std::string_view key, DType& value) override {
    if (const OnnxAttribute* found = find(key, 2)) value = dtype_of_onnx(found->integer);
  }
  void operator()(std::string_view key, Dims& value) override {
    if (const OnnxAttribute* found = find(key, 7)) value = found->integers;
  }
  void operator()(std::string_view key, Shape& value) override {
    if (const OnnxAttribute* found = find(key, 7))
      value.assign(found->integers.begin(), found->integers.end());
  }
  void operator()(std::string_view key, Tensor& value) override {
    if (const OnnxAttribute* found = find(key, 4)) value = *found->tensor;
  }
  void operator()(std::string_view, TensorType&) override { throw Unsupported("a type"); }
  void operator()(std::string_view, Region&) override { throw Unsupported("graphs inside ops"); }

  void check_all_used() const {
    for (const auto& [key, attribute] : node_.attributes)
      require(used_.contains(key), node_.op, ": the op has no attribute '", key, "'");
  }

 private:
  const OnnxAttribute* find(std::string_view key, int type) {
    const auto found = node_.attributes.find(std::string(key));
    if (found == node_.attributes.end()) return nullptr;
    require(found->second.type == type, node_.op, ": attribute '", key, "' is of ONNX's type ",
            found->second.type, ", not ", type);
    used_.insert(found->first);
    return &found->second;
  }

  const OnnxNode& node_;
  std::set<std::string> used_;
};

// Which of the graph's inputs are known while it is built. Many ops need their shapes, axes and
// the like then.
enum class Known { none, all_but_first, all };

class OnnxRun {
 public:
  OnnxRun(const OnnxGraph& onnx, Known known, bool reference)
      : onnx_(onnx), known_(known), reference_(reference) {}

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    for (const auto& [key, tensor] : onnx_.initializers) values_[key] = graph_.constant(tensor);
    std::vector<Tensor> fed;
    require(inputs.size() <= onnx_.inputs.size(), "more tensors than inputs");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool constant = known_ == Known::all || (known_ == Known::all_but_first && i > 0);
      Value& value = values_[onnx_.inputs[i]];
      value = constant ? graph_.constant(inputs[i])
                       : graph_.input(concat("input", i), inputs[i].type());
      if (!constant) fed.push_back(inputs[i]);
    }
    for (const OnnxNode& node : onnx_.nodes) add(node);
    for (std::size_t i = 0; i < onnx_.outputs.size(); ++i)
      graph_.output(concat("output", i), value_of(onnx_.outputs[i]));
    return interpret(graph_, fed, {.reference = reference_});
  }

 private:
  Value value_of(const std::string& key) const {
    if (key.empty()) return absent;
    const auto found = values_.find(key);
    require(found != values_.end(), "nothing makes the value '", key, "'");
    return found->second;
  }

  void add(const OnnxNode& node) {
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
    require(made.size() >= node.outputs.size(), node.op, ": has ", made.size(), " outputs, ",
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

  static Tensor constant_of(const OnnxNode& node) {
    require(node.attributes.size() == 1, "Constant: one attribute is expected");
    const auto& [key, attribute] = *node.attributes.begin();
    if (key == "value") return *attribute.tensor;
    if (key == "value_int") return Tensor::from<std::int64_t>({}, {attribute.integer});
    if (key == "value_float") return Tensor::from<float>({}, {attribute.number});
    if (key == "value_ints")
      return Tensor::from<std::int64_t>({static_cast<std::int64_t>(attribute.integers.size())},
                                        attribute.integers);
    if (key == "value_floats")
      return Tensor::from<float>({static_cast<std::int64_t>(attribute.numbers.size())},
                                 attribute.numbers);
    throw Unsupported("a constant's " + key);
  }

  const OnnxGraph& onnx_;
  Known known_;
  bool reference_;
  Graph graph_;
  std::map<std::string, Value> values_;
};

}  // namespace narrowgauge::testing
