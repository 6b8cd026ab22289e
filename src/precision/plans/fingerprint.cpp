// SPDX-License-Identifier: Apache-2.0
#include "precision/plans/fingerprint.h"

#include <algorithm>
#include <set>

#include "base/enumerate.h"
#include "base/hash/sha256.h"
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

std::string hash_of(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  Sha256 hash;
  for (const std::string& part : parts) hash.update(concat(part.size(), ':', part));
  return hash.hex().substr(0, 16);
}

// The paths in their file of the nodes through which numbers flow, those of regions too. What is
// computed from sizes alone is constant in other graphs of the same file.
class FlowingNodes {
 public:
  std::set<std::string> paths;

  void add(const Graph& graph) {
    std::set<Value> flowing;
    for (const auto& [i, node] : enumerate(graph.nodes())) {
      const bool begins = node.is<StateValue>() || node.is<Input>();
      const bool goes_on =
          std::ranges::any_of(node.inputs, [&](Value value) { return flowing.contains(value); });
      for (int o = 0; o < std::ssize(node.outputs); ++o)
        if ((begins || goes_on) && !is_integer(node.output(o).type.dtype)) flowing.insert({i, o});
      for (const Region& region : regions_of(node)) add(*region);
      if (goes_on && regions_of(node).empty() && flowing.contains({i, 0})) add(node);
    }
  }

 private:
  void add(const Node& node) {
    if (node.file_nodes.empty()) paths.insert(node.name);
    for (const FileNode& in_file : node.file_nodes) paths.insert(in_file.path);
  }
};

}  // namespace

std::string network_fingerprint(const Graph& graph) {
  FlowingNodes nodes;
  nodes.add(graph);
  std::vector<std::string> parts(nodes.paths.begin(), nodes.paths.end());
  for (const Value input : graph.inputs())
    parts.push_back(concat("input ", graph.value_name(input), ' ',
                           kind_text(graph.type(input).dtype, graph.type(input).shape.size())));
  for (const State& state : graph.states())  // which is a statistic depends on what is trained
    parts.push_back(concat("state ", state.name, ' ', state.type));
  for (const GraphOutput& output : graph.outputs()) parts.push_back("output " + output.name);
  return hash_of(std::move(parts));
}

std::vector<std::string> names_of_network(const Graph& graph) {
  return {network_fingerprint(graph), fingerprint(graph)};
}

std::string fingerprint(const Graph& graph) {
  std::vector<std::string> parts;
  for (const Node& node : graph.nodes()) parts.push_back(node_text(graph, node));
  for (const State& state : graph.states())
    parts.push_back(concat("state ", state.name, ' ', name(state.role), ' ', state.type, " next ",
                           graph.value_name(state.next), '\n'));
  for (const GraphOutput& output : graph.outputs())
    parts.push_back(concat("output ", output.name, ' ', graph.value_name(output.value), '\n'));
  return hash_of(std::move(parts));
}

}  // namespace narrowgauge
