// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/merge_scans.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/attributes.h"
#include "ops/control/control_flow.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

bool same_types(const std::vector<ValueInfo>& a, const std::vector<ValueInfo>& b) {
  return std::ranges::equal(a, b, [](const ValueInfo& one, const ValueInfo& other) {
    return one.type == other.type && one.storage == other.storage;
  });
}

// Random nodes draw from the stream of their scan, so that they are never the same.
bool same_step(const Node& a, const Node& b) {
  return a.op == b.op && !is_random(a) && a.inputs == b.inputs && a.math == b.math &&
         a.instance == b.instance && same_types(a.outputs, b.outputs) &&
         print_attributes(*a.op, a.attributes) == print_attributes(*b.op, b.attributes);
}

// Directions that are not listed are forwards (0).
bool begins_alike(const Dims& few, const Dims& more, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if ((i < few.size() ? few[i] : 0) != (i < more.size() ? more[i] : 0)) return false;
  return true;
}

// Whether `more` takes the steps of `less` and begins with its outputs.
bool gives_all_of(const Scan& more, const Scan& less) {
  const Graph &a = *less.body, &b = *more.body;
  const auto same_output = [](const GraphOutput& one, const GraphOutput& other) {
    return one.value == other.value;
  };
  return more.num_scan_inputs == less.num_scan_inputs && more.captured == less.captured &&
         more.scan_input_directions == less.scan_input_directions &&
         begins_alike(less.scan_output_directions, more.scan_output_directions,
                      a.outputs().size()) &&
         a.outputs().size() <= b.outputs().size() &&
         std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), same_output) &&
         std::ranges::equal(a.nodes(), b.nodes(), same_step);
}

// A later scan that gives all that this one does.
std::optional<int> fuller_scan(const Graph& graph, int index) {
  const Node& node = graph.node(index);
  if (!node.is<Scan>()) return std::nullopt;
  for (int i = index + 1; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& other = graph.node(i);
    if (other.is<Scan>() && other.inputs == node.inputs &&
        gives_all_of(other.as<Scan>(), node.as<Scan>()))
      return i;
  }
  return std::nullopt;
}

}  // namespace

Graph merge_scans(const Graph& graph) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (rebuild.has({i, 0})) continue;  // merged with an earlier one
    const std::optional<int> fuller = fuller_scan(graph, i);
    if (!fuller) {
      rebuild.copy(i);
      continue;
    }
    const Node &node = graph.node(i), &other = graph.node(*fuller);
    NodeOptions options = options_of(other);
    options.name = node.name;
    options.origin = node.origin;
    options.phase = node.phase;
    const int made =
        rebuild.graph().add(*other.op, other.attributes, rebuild.mapped(node.inputs), options).node;
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) rebuild.map({i, o}, {made, o});
    for (int o = 0; o < static_cast<int>(other.outputs.size()); ++o)
      rebuild.map({*fuller, o}, {made, o});
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
