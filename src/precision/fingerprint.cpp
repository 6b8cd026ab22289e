// SPDX-License-Identifier: Apache-2.0
#include "precision/fingerprint.h"

#include <algorithm>

#include "base/sha256.h"
#include "ir/attributes.h"

namespace narrowgauge {

namespace {

std::string kind_text(DType dtype, std::size_t rank) { return concat(dtype, '^', rank); }

class AttributeTexts : public AttributeVisitor {
 public:
  void operator()(std::string_view key, bool& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, std::int64_t& v) override { add(key, concat(v)); }
  void operator()(std::string_view, double&) override {}
  void operator()(std::string_view key, std::string& v) override { add(key, v); }
  void operator()(std::string_view key, DType& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, Dims& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, Shape& v) override { add(key, concat(v.size())); }
  void operator()(std::string_view key, TensorType& v) override {
    add(key, kind_text(v.dtype, v.shape.size()));
  }
  void operator()(std::string_view key, Tensor& v) override {
    add(key, kind_text(v.dtype(), v.dims().size()));
  }
  void operator()(std::string_view key, Region& v) override {
    add(key, v ? fingerprint(*v) : std::string());
  }
  std::string text;

 private:
  void add(std::string_view key, std::string_view value) {
    text += concat(key, '=', value.size(), ':', value, '\n');
  }
};

std::string node_text(const Graph& graph, const Node& node) {
  std::string out = concat("node ", node.full_name(), ' ', node.op->full_name(), '\n');
  for (const Value& value : node.inputs)
    out += concat("in ", value.is_absent() ? "_" : graph.value_name(value), '\n');
  for (const ValueInfo& output : node.outputs)
    out += concat("out ", kind_text(output.type.dtype, output.type.shape.size()), '\n');
  if (node.autocast) out += concat("autocast ", *node.autocast, '\n');
  if (node.op->info.stage == Stage::trained) return out;
  AttributeTexts attributes;
  Attributes shared = node.attributes;  // the visitor only reads
  node.op->visit(shared.mutate(), attributes);
  return out + attributes.text;
}

}  // namespace

std::string fingerprint(const Graph& graph) {
  std::vector<std::string> parts;
  for (const Node& node : graph.nodes()) parts.push_back(node_text(graph, node));
  for (const State& state : graph.states())
    parts.push_back(concat("state ", state.name, ' ', name(state.role), ' ', state.type, " next ",
                           graph.value_name(state.next), '\n'));
  for (const GraphOutput& output : graph.outputs())
    parts.push_back(concat("output ", output.name, ' ', graph.value_name(output.value), '\n'));
  std::sort(parts.begin(), parts.end());
  Sha256 hash;
  for (const std::string& part : parts) hash.update(concat(part.size(), ':', part));
  return hash.hex().substr(0, 16);
}

}  // namespace narrowgauge
