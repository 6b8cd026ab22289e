// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/merge_duplicates.h"

#include <map>

#include "base/hash/xxh64.h"
#include "ir/attributes.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t most_printed = 64;  // elements of a constant; a hash stands for longer ones

std::string attribute_text(const Node& node, const Attributes& attributes) {
  if (!node.is<Constant>()) return print_attributes(*node.op, attributes);
  const Tensor& value = node.as<Constant>().value;
  if (value.size() <= most_printed) return print_attributes(*node.op, attributes);
  const auto bytes = static_cast<std::size_t>(bytes_for(value.size(), value.dtype()));
  return concat(value.type(), ' ', xxh64({value.data(), bytes}));
}

std::string key_of(const Node& node, const Attributes& attributes, const Values& inputs) {
  std::string key = concat(node.op->full_name(), '{', attribute_text(node, attributes), '}',
                           node.math, '#', node.instance);
  for (const Value& value : inputs) key += concat(' ', value.node, '@', value.output);
  for (const ValueInfo& output : node.outputs) key += concat(' ', output.storage);
  return key;
}

// Whether nodes of one key are the same: a hash may be that of other constants too.
bool are_same(const Node& a, const Node& b) {
  return !a.is<Constant>() || a.as<Constant>().value.same_bits(b.as<Constant>().value);
}

}  // namespace

Graph merge_duplicates(const Graph& graph) {
  Rebuild rebuild(graph);
  std::map<std::string, int> first;  // key -> node of the old graph
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    const Attributes attributes = with_regions(node, merge_duplicates);
    const Values inputs = rebuild.mapped(node.inputs);
    const bool unique = node.is<Input>() || node.is<StateValue>() || is_random(node);
    if (!unique) {
      const auto [same, is_new] = first.try_emplace(key_of(node, attributes, inputs), i);
      if (!is_new && are_same(node, graph.node(same->second))) {
        for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
          rebuild.map({i, o}, rebuild.mapped({same->second, o}));
        continue;
      }
    }
    rebuild.copy(i, attributes, inputs);
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
