// SPDX-License-Identifier: Apache-2.0
// If and Loop. Where it is known which way they go, the nodes inside take their place; else they
// become ops with regions.
#include "ops/control/control_flow.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "io/onnx/import/handlers.h"
#include "io/onnx/import/region.h"
#include "io/onnx/import/scan.h"

namespace narrowgauge::onnx {

namespace {

const Graph& graph_of(const Node& node, std::string_view attribute) {
  const auto* const graph = node.get<Box<Graph>>(attribute);
  require<ModelError>(graph, "attribute '", attribute, "' is missing");
  return **graph;
}

Items items_of(const Values& values) {
  Items items;
  for (const Value value : values) items.push_back(Item::of(value));
  return items;
}

const Tensor* known(NodeImport& node, Value value) {
  return value.is_absent() ? nullptr : node.graph().constant_value(value);
}

// The values that any of the bodies captures, each once.
Values all_captured(std::initializer_list<const Body*> bodies) {
  Values all;
  for (const Body* body : bodies)
    for (const Scope::Capture& capture : body->captures)
      if (std::find(all.begin(), all.end(), capture.outside) == all.end())
        all.push_back(capture.outside);
  return all;
}

void require_same_types(const Body& a, const Body& b) {
  bool same =
      a.tensors_only && b.tensors_only && a.graph.outputs().size() == b.graph.outputs().size();
  for (std::size_t o = 0; same && o < a.graph.outputs().size(); ++o)
    same = a.graph.type(a.graph.outputs()[o].value) == b.graph.type(b.graph.outputs()[o].value);
  require<UnknownValueError>(
      same, "If: its branches give different types, so that cond must be constant");
}

Items if_else(NodeImport& node) {
  const Graph& then_graph = graph_of(node.node(), "then_branch");
  const Graph& else_graph = graph_of(node.node(), "else_branch");
  const Value condition = node.value(0, true);
  if (const Tensor* const truth = known(node, condition)) {
    require<ModelError>(truth->size() == 1, "cond must be one truth value, got ", truth->type());
    Scope scope(node.graph(), &node.scope(), Scope::Outer::same_graph);
    return truth->at(0) != 0 ? node.importer().add_graph(then_graph, "then_branch", scope)
                             : node.importer().add_graph(else_graph, "else_branch", scope);
  }
  const Body then_body = body_of(node, "then_branch", then_graph, {});
  const Body else_body = body_of(node, "else_branch", else_graph, {});
  require_same_types(then_body, else_body);
  const Values captured = all_captured({&then_body, &else_body});
  Values inputs{condition};
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const If op{region_of(then_body, 0, node, captured), region_of(else_body, 0, node, captured)};
  return items_of(node.add(record_of<If>(), Attributes::of(op), inputs));
}

// What a Loop starts with.
struct Start {
  const Graph* body;
  Value trips, condition;
  Items carried;
};

Start start_of(NodeImport& node) {
  Start start{&graph_of(node.node(), "body"), node.value(0, true), node.value(1, true), {}};
  for (int i = 2; i < node.input_count(); ++i) start.carried.push_back(node.item(i));
  const std::size_t least = start.carried.size() + 1;
  require<ModelError>(start.body->outputs.size() >= least, "its graph has ",
                      start.body->outputs.size(), " outputs, needs ", least);
  return start;
}

// Whether the body says in every round that it goes on, if only by repeating the condition it got.
bool never_stops(const Body& body) {
  const Value condition = body.graph.outputs().at(0).value;
  if (condition == body.graph.inputs().at(1)) return true;
  const Tensor* const going = body.graph.constant_value(condition);
  return going && going->size() == 1 && going->at(0) != 0;
}

// The loop as an op, where every round has the same types; else nothing.
std::optional<Items> as_region(NodeImport& node, const Start& start) {
  TensorTypes types{{DType::i64, {}}, {DType::boolean, {}}};
  Values inputs{start.trips, start.condition};
  for (const Item& item : start.carried) {
    if (item.kind != Item::Kind::value) return {};
    types.push_back(node.graph().type(item.value));
    inputs.push_back(item.value);
  }
  const Body body = body_of(node, "body", *start.body, types);
  if (!body.tensors_only) return {};
  const std::size_t carried = start.carried.size();
  for (std::size_t i = 0; i < carried; ++i)
    if (body.graph.type(body.graph.outputs()[i + 1].value) != types[i + 2]) return {};
  const bool stacks = body.graph.outputs().size() > carried + 1;
  if (stacks && (!known(node, start.trips) || !never_stops(body))) return {};
  const Values captured = all_captured({&body});
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const Loop op{region_of(body, types.size(), node, captured), static_cast<std::int64_t>(carried)};
  return items_of(node.add(record_of<Loop>(), Attributes::of(op), inputs));
}

bool goes_on(NodeImport& node, Value condition) {
  if (condition.is_absent()) return true;
  const Tensor* const truth = known(node, condition);
  require<UnknownValueError>(truth, "Loop: how often it runs must be known");
  return truth->size() == 1 && truth->at(0) != 0;
}

// Round by round; results that are stacked get a new axis 0.
Items unrolled(NodeImport& node, const Start& start) {
  const Tensor* const trips = known(node, start.trips);
  require<UnknownValueError>(trips || start.trips.is_absent(), "Loop: M must be constant");
  const auto most =
      trips ? static_cast<std::int64_t>(trips->at(0)) : std::numeric_limits<std::int64_t>::max();
  Items carried = start.carried;
  std::vector<Items> stacked(start.body->outputs.size() - carried.size() - 1);
  Value condition = start.condition;
  for (std::int64_t round = 0; round < most && goes_on(node, condition); ++round) {
    node.importer().count_node();
    Scope scope(node.graph(), &node.scope(), Scope::Outer::same_graph);
    const auto set = [&](std::size_t input, const Item& item) {
      if (input < start.body->inputs.size()) scope.set(start.body->inputs[input].name, item);
    };
    set(0, Item::of(node.constant(Tensor::from<std::int64_t>({}, std::vector{round}))));
    set(1, Item::of(node.constant(Tensor::scalar(DType::boolean, 1))));
    for (std::size_t i = 0; i < carried.size(); ++i) set(i + 2, carried[i]);
    const Items made = node.importer().add_graph(*start.body, "body", scope);
    condition = made.at(0).value;
    require<ModelError>(!condition.is_absent(), "the first output of its graph must be cond");
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = made.at(i + 1);
    for (std::size_t s = 0; s < stacked.size(); ++s)
      stacked[s].push_back(made.at(carried.size() + 1 + s));
  }
  for (const Items& rounds : stacked) carried.push_back(stack(node, rounds));
  return carried;
}

Items loop(NodeImport& node) {
  const Start start = start_of(node);
  try {
    if (std::optional<Items> items = as_region(node, start)) return *items;
  } catch (const UnknownValueError&) {
    // A shape depends on the round.
  }
  return unrolled(node, start);
}

constexpr NamedHandler control_flow_table[] = {{"If", if_else}, {"Loop", loop}, {"Scan", scan}};

}  // namespace

std::span<const NamedHandler> control_flow_handlers() { return control_flow_table; }

}  // namespace narrowgauge::onnx
