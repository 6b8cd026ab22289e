// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/fused_group.h"

#include <algorithm>
#include <map>

#include "base/enumerate.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/round_to.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/quantized/steps.h"
#include "passes/core/operands.h"

namespace narrowgauge {

namespace {

class GroupBuilder {
 public:
  GroupBuilder(const Graph& graph, const std::vector<int>& members, const std::set<Value>& read)
      : graph_(graph), body_("body") {
    for (const int member : members) add_member(member);
    for (const int member : members)
      for (int o = 0; o < static_cast<int>(graph.node(member).outputs.size()); ++o)
        if (read.contains({member, o})) add_output({member, o});
  }

  FusedGroup finish() {
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
    NodeOptions options = options_of(node);
    options.storages.clear();
    if (node.is<QuantizeLinear>() || node.is<DequantizeLinear>()) {
      inside_[{index, 0}] = steps_inside(node, inside(node.inputs[0]), std::move(options));
      return;
    }
    Values inputs;
    for (const Value& value : node.inputs)
      inputs.push_back(value.is_absent() ? absent : inside(value));
    if (node.is<Cast>()) {
      inside_[{index, 0}] = cast_inside(node, inputs[0], options);
      return;
    }
    const Value made = body_.add(*node.op, node.attributes, inputs, options);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
      inside_[{index, o}] = {made.node, o};
  }

  // Converts to or from steps of one scale, which is known.
  Value steps_inside(const Node& node, Value x, NodeOptions options) {
    const auto number = [&](std::size_t input) {
      const bool given = input < node.inputs.size() && !node.inputs[input].is_absent();
      return given ? graph_.constant_value(node.inputs[input])->at(0) : 0.0;
    };
    if (node.is<DequantizeLinear>())
      return body_.add(FromSteps{number(1), number(2)}, {x}, std::move(options));
    const bool is_signed = node.outputs[0].type.dtype == DType::i8;
    const double low = is_signed ? -128 : 0;
    return body_.add(ToSteps{number(1), number(2), low, low + 255}, {x}, std::move(options));
  }

  // A cast up does nothing in f32; a cast down keeps its rounding.
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
  FusedGroup group_;
};

void emit(Rebuild& rebuild, const FusedGroup& group, int last) {
  const Graph& graph = rebuild.source();
  NodeOptions options = options_of(graph.node(last));
  options.name = rebuild.graph().unique_name(graph.node(last).full_name() + ".fused");
  options.origin = graph.node(last).full_name();
  options.instance = 0;
  options.storages.clear();
  for (const Value& value : group.outputs) options.storages.push_back(graph.info(value).storage);
  const Value made =
      rebuild.graph().add(group.op, rebuild.mapped(group.inputs), std::move(options));
  for (const auto& [o, output] : enumerate(group.outputs)) rebuild.map(output, {made.node, o});
}

}  // namespace

// The values that are read outside their group.
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

FusedGroup build_group(const Graph& graph, const std::vector<int>& members,
                       const std::set<Value>& read) {
  return GroupBuilder(graph, members, read).finish();
}

bool is_offered(const Graph& graph, const FusedGroup& group, const Target& target) {
  std::vector<Operand> inputs, outputs;
  for (const Value& value : group.inputs) inputs.push_back(operand_of(graph, value));
  for (const Value& value : group.outputs) outputs.push_back(operand_of(graph, value));
  const Attributes attributes = Attributes::of(group.op);
  const Request request{record_of<Fused>(), attributes, inputs, outputs, target,
                        Math::none,         "fused"};
  const auto kernels = Fused::kernels();
  return std::any_of(kernels.begin(), kernels.end() - 1, [&](const Kernel& kernel) {
    return static_cast<bool>(kernel.offer(request));
  });
}

Graph fuse_groups(const Graph& graph, Groups groups, const Target& target) {
  const std::set<Value> read = values_read_outside(graph, groups);
  std::map<int, FusedGroup> built;  // by last member
  for (int g = 0; g < groups.count(); ++g) {
    if (groups.members(g).empty()) continue;
    const int last = groups.members(g).back();
    FusedGroup group = build_group(graph, groups.members(g), read);
    if (is_offered(graph, group, target))
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
