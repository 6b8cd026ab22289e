// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/cast.h"
#include "ops/fused.h"
#include "ops/round_to.h"
#include "passes/groups.h"
#include "passes/operands.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

constexpr std::size_t most_members = 24;

bool is_strip_dtype(DType dtype) {
  return dtype == DType::boolean || (is_floating(dtype) && dtype != DType::f64);
}

// RoundTo, which stands for a Cast inside a group, has infinities where these have the largest
// value.
bool is_saturating_cast(const Node& node) {
  if (!node.is<Cast>()) return false;
  const Cast& cast = node.as<Cast>();
  return cast.saturate != 0 && is_floating(cast.to) && bits(cast.to) == 8;
}

bool is_candidate(const Graph& graph, const Node& node) {
  if (!node.op->elementwise || node.op->info.random || node.outputs.size() != 1) return false;
  if (is_saturating_cast(node)) return false;
  if (!is_strip_dtype(node.outputs[0].type.dtype)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value value) {
    return value.is_absent() || is_strip_dtype(graph.type(value).dtype);
  });
}

bool same_place(const ValueInfo& a, const ValueInfo& b) {
  return a.type.shape == b.type.shape && a.storage == b.storage;
}

Groups find_groups(const Graph& graph) {
  Groups groups(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (!is_candidate(graph, node)) continue;
    int joined = -1;
    for (const Value& input : node.inputs) {
      const int group = input.is_absent() ? -1 : groups.group_of(input.node);
      if (group < 0 || joined >= 0 || groups.members(group).size() >= most_members) continue;
      if (!same_place(graph.info({groups.members(group)[0], 0}), node.outputs[0])) continue;
      if (groups.can_join(i, group)) groups.join(i, joined = group);
    }
    if (joined < 0) groups.start(i);
  }
  for (int g = 0; g < groups.count(); ++g)
    if (groups.members(g).size() < 2) groups.dissolve(g);
  return groups;
}

struct Group {
  Values inputs, outputs;  // of the old graph
  Fused op;
};

class GroupBuilder {
 public:
  GroupBuilder(const Graph& graph, const std::vector<int>& members, const std::set<Value>& read)
      : graph_(graph), body_("body") {
    for (const int member : members) add_member(member);
    for (const int member : members)
      if (read.contains({member, 0})) add_output({member, 0});
  }

  Group finish() {
    group_.op.body = std::make_shared<const Graph>(std::move(body_));
    return std::move(group_);
  }

 private:
  Value inside(Value outside) {
    const auto known = inside_.find(outside);
    if (known != inside_.end()) return known->second;
    TensorType type = graph_.type(outside);
    if (const Tensor* constant = graph_.constant_value(outside); constant && constant->size() == 1)
      return inside_[outside] = body_.constant(constant->cast(inside_dtype(type.dtype)),
                                               graph_.value_name(outside));
    type.dtype = inside_dtype(type.dtype);
    group_.inputs.push_back(outside);
    return inside_[outside] = body_.input(graph_.value_name(outside), std::move(type));
  }

  void add_member(int index) {
    const Node& node = graph_.node(index);
    Values inputs;
    for (const Value& value : node.inputs)
      inputs.push_back(value.is_absent() ? absent : inside(value));
    const NodeOptions options{node.name, node.origin, node.instance, Math::none, {}};
    if (node.is<Cast>())
      inside_[{index, 0}] = cast_inside(node, inputs[0], options);
    else
      inside_[{index, 0}] = body_.add(*node.op, node.attributes, inputs, options);
  }

  // A cast up is nothing in f32; a cast down keeps its rounding.
  Value cast_inside(const Node& node, Value input, const NodeOptions& options) {
    const DType to = node.outputs[0].type.dtype;
    if (to == DType::f32 && body_.type(input).dtype == DType::f32) return input;
    if (is_floating(to) && body_.type(input).dtype == DType::f32)
      return body_.add(RoundTo{to}, {input}, options);
    return body_.add(Cast{.to = inside_dtype(to)}, {input}, options);
  }

  void add_output(Value value) {
    group_.op.dtypes += concat(group_.outputs.empty() ? "" : ",", graph_.type(value).dtype);
    body_.output(graph_.value_name(value), inside_.at(value));
    group_.outputs.push_back(value);
  }

  const Graph& graph_;
  Graph body_;
  std::map<Value, Value> inside_;
  Group group_;
};

// Values that something outside their group reads.
std::set<Value> values_read_outside(const Graph& graph, const Groups& groups) {
  std::set<Value> read;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    for (const Value& value : graph.node(i).inputs)
      if (!value.is_absent() &&
          (groups.group_of(value.node) < 0 || groups.group_of(value.node) != groups.group_of(i)))
        read.insert(value);
  for (const State& state : graph.states()) read.insert(state.next);
  for (const GraphOutput& output : graph.outputs()) read.insert(output.value);
  return read;
}

// Whether a kernel other than the reference takes the group.
bool is_offered(const Graph& graph, const Group& group) {
  std::vector<Operand> inputs, outputs;
  for (const Value& value : group.inputs) inputs.push_back(operand_of(graph, value));
  for (const Value& value : group.outputs) outputs.push_back(operand_of(graph, value));
  const Attributes attributes = Attributes::of(group.op);
  const Request request{record_of<Fused>(), attributes, inputs, outputs, Math::none, "fused"};
  return static_cast<bool>(Fused::kernels().front().offer(request));
}

void emit(Rebuild& rebuild, const Group& group, int last) {
  const Graph& graph = rebuild.source();
  NodeOptions options = rebuild.options_of(last);
  options.name = rebuild.graph().unique_name(graph.node(last).full_name() + ".fused");
  options.origin = graph.node(last).full_name();
  options.instance = 0;
  options.storages.clear();
  for (const Value& value : group.outputs) options.storages.push_back(graph.info(value).storage);
  const Value made =
      rebuild.graph().add(group.op, rebuild.mapped(group.inputs), std::move(options));
  for (int o = 0; o < static_cast<int>(group.outputs.size()); ++o)
    rebuild.map(group.outputs[static_cast<std::size_t>(o)], {made.node, o});
}

}  // namespace

Graph fuse_elementwise(const Graph& graph) {
  Groups groups = find_groups(graph);
  const std::set<Value> read = values_read_outside(graph, groups);
  std::map<int, Group> built;  // by last member
  for (int g = 0; g < groups.count(); ++g) {
    if (groups.members(g).empty()) continue;
    const int last = groups.members(g).back();
    Group group = GroupBuilder(graph, groups.members(g), read).finish();
    if (is_offered(graph, group))
      built.emplace(last, std::move(group));
    else
      groups.dissolve(g);
  }
  Rebuild rebuild(graph);
  for (const int unit : groups.order()) {
    const auto group = built.find(unit);
    if (group == built.end())
      rebuild.copy(unit);
    else
      emit(rebuild, group->second, unit);
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
