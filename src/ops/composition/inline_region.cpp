// SPDX-License-Identifier: Apache-2.0
#include "ops/composition/inline_region.h"

#include "base/enumerate.h"
#include "ir/value_table.h"

namespace narrowgauge {

Values inline_region(Graph& graph, const Graph& region, const Values& inputs,
                     const std::string& prefix, const std::map<Value, Value>& known) {
  ValueTable<Value> made(region);
  for (std::size_t i = 0; i < inputs.size(); ++i) made[region.inputs()[i]] = inputs[i];
  for (const auto& [i, node] : enumerate(region.nodes())) {
    if (const auto found = known.find({i, 0}); found != known.end()) made[{i, 0}] = found->second;
    if (node.is<Input>() || known.contains({i, 0})) continue;
    Values operands;
    for (const Value& value : node.inputs)
      operands.push_back(value.is_absent() ? absent : made[value]);
    const Value first =
        graph.add(*node.op, node.attributes, operands,
                  {.name = graph.unique_name(prefix + node.name), .instance = node.instance});
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) made[{i, o}] = {first.node, o};
  }
  Values outputs;
  for (const GraphOutput& output : region.outputs()) outputs.push_back(made[output.value]);
  return outputs;
}

}  // namespace narrowgauge
