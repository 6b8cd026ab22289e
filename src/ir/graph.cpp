// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/graph.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text/ascii.h"
#include "base/unloading.h"
#include "ir/inference.h"
#include "ir/ports.h"

namespace narrowgauge {

namespace {
constexpr std::array<std::string_view, 5> role_names{"parameter", "statistic", "moment", "control",
                                                     "derived"};
constexpr std::array<std::string_view, 3> phase_names{"forward", "backward", "update"};
}  // namespace

std::string_view name(Role role) { return role_names.at(static_cast<std::size_t>(role)); }

Role parse_role(std::string_view text) {
  const auto found = std::find(role_names.begin(), role_names.end(), text);
  require(found != role_names.end(), "state: unknown role '", text, "'");
  return static_cast<Role>(found - role_names.begin());
}

std::string_view name(Phase phase) { return phase_names.at(static_cast<std::size_t>(phase)); }

Phase parse_phase(std::string_view text) {
  const auto found = std::find(phase_names.begin(), phase_names.end(), text);
  require(found != phase_names.end(), "node: unknown phase '", text, "'");
  return static_cast<Phase>(found - phase_names.begin());
}

bool is_source(const Node& node) {
  return node.is<Input>() || node.is<StateValue>() || node.is<Constant>();
}

NodeOptions options_of(const Node& node) {
  NodeOptions options{node.name, node.origin, node.phase,    node.instance,
                      node.math, {},          node.autocast, node.file_nodes};
  for (const ValueInfo& output : node.outputs) options.storages.push_back(output.storage);
  return options;
}

std::string Node::full_name() const { return instance == 0 ? name : concat(name, '#', instance); }

namespace {

// As a graph keeps its values: passes take them over into others.
Value without_identity(Value value) { return {value.node, value.output}; }

}  // namespace

Value Graph::input(std::string input_name, TensorType type) {
  const Value value = add(Input{std::move(type)}, {}, {.name = std::move(input_name)});
  inputs_.push_back(without_identity(value));
  return value;
}

namespace {

void check(const Initial& initial, const std::string& state) {
  using Kind = Initial::Kind;
  constexpr double most = std::numeric_limits<float>::max();
  const auto [a, b] = std::pair(initial.a, initial.b);
  if (initial.kind == Kind::data) return;
  require(!std::isnan(a), "state '", state, "': expected a number to begin with, got ", a);
  if (initial.kind == Kind::constant) return;
  const bool uniform = initial.kind == Kind::uniform;
  require(std::abs(a) <= most && b >= (uniform ? a : 0) && b <= most, "state '", state,
          "': expected random numbers of a ",
          uniform ? "range from its low to its high end" : "mean and a deviation of 0 or more",
          ", all finite in f32, got ", a, " and ", b);
}

}  // namespace

Value Graph::state(State state) {
  check(state.initial, state.name);
  require(!find_state(state.name), "graph ", name_, ": state '", state.name, "' exists already");
  const Value value = add(StateValue{state.type}, {}, {.name = state.name});
  state.current = state.next = without_identity(value);
  states_.push_back(std::move(state));
  return value;
}

Value Graph::constant(Tensor value, std::string constant_name) {
  return add(Constant{std::move(value)}, {}, {.name = std::move(constant_name)});
}

void Graph::set_next(std::string_view state_name, Value next) {
  const State* const found = find_state(state_name);
  require(found, "graph ", name_, ": no state '", state_name, "'");
  require(type(next) == found->type, "state '", state_name, "': holds ", found->type, ", next is ",
          type(next));
  states_[static_cast<std::size_t>(found - states_.data())].next = without_identity(next);
}

void Graph::output(std::string output_name, Value value) {
  require_own(value, concat("graph ", name_, ": output '", output_name, '\''));
  require(find_output(output_name).is_absent(), "graph ", name_, ": output '", output_name,
          "' exists already");
  outputs_.push_back({std::move(output_name), without_identity(value)});
}

namespace {

bool has_ports_for(const OpRecord& op, std::size_t outputs) {
  const auto needed = static_cast<std::size_t>(
      std::ranges::count_if(op.outputs, [](const Port& p) { return !p.optional && !p.variadic; }));
  const bool open = !op.outputs.empty() && op.outputs.back().variadic;
  return outputs >= needed && (open || outputs <= op.outputs.size());
}

std::vector<ValueInfo> infer_outputs(const Graph& graph, const OpRecord& op,
                                     const Attributes& attributes, const Values& inputs) {
  const Inference inference = inference_of(graph, op, inputs);
  check_inputs(op, inference);
  std::vector<ValueInfo> outputs;
  for (TensorType& type : op.infer(attributes.get(), inference))
    outputs.push_back({std::move(type)});
  for (const ValueInfo& output : outputs)
    for (const Dim& dim : output.type.shape)
      require(!dim.is_known() || dim.value() >= 0, op.info.name, ": ", output.type,
              " has a size that is negative");
  require(has_ports_for(op, outputs.size()), op.full_name(), ": infer() gives ", outputs.size(),
          " types for the outputs '", op.info.outputs, '\'');
  if (op.numbers && !outputs.empty()) outputs[0].numbers = op.numbers(attributes.get(), inference);
  return outputs;
}

}  // namespace

void Graph::keep_names_for(const Graph& other) {
  for (const Node& node : other.nodes()) by_name_.emplace(node.full_name(), -1);
}

std::string Graph::unique_name(const std::string& base) const {
  if (!by_name_.contains(base)) return base;
  int& counter = name_counters_[base];
  std::string candidate;
  do candidate = concat(base, '_', counter++ + 2);
  while (by_name_.contains(candidate));
  return candidate;
}

// The file's nodes of a node to be added: those given, or else those of the scope, unless they say
// no more than its name.
std::vector<FileNode> Graph::file_nodes_of(const Node& node, std::vector<FileNode> given) const {
  if (given.empty()) given = scope_.file_nodes;
  if (given.size() == 1 && given[0] == FileNode{node.name, node.name}) given.clear();
  return given;
}

Value Graph::add(const OpRecord& op, Attributes attributes, Values inputs, NodeOptions options) {
  watch_for_end_of_program();  // which finds the tables of ops, among others
  while (!inputs.empty() && inputs.back().is_absent()) inputs.pop_back();
  Node node;
  node.instance = options.instance;
  node.origin = options.origin.empty() ? scope_.origin : std::move(options.origin);
  node.phase = options.phase.value_or(scope_.phase);
  node.math = options.math;
  node.autocast = options.autocast ? options.autocast : scope_.autocast;
  node.name = options.name.empty() ? unique_name(scope_.prefix + lower(op.info.name))
                                   : std::move(options.name);
  node.op = &op;
  if (!is_source(node)) node.file_nodes = file_nodes_of(node, std::move(options.file_nodes));
  try {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_absent()) continue;
      if (!owns(inputs[i])) require_own(inputs[i], concat("input ", i));
      inputs[i] = without_identity(inputs[i]);
    }
    node.outputs = infer_outputs(*this, op, attributes, inputs);
  } catch (const UnknownValueError& error) {
    throw UnknownValueError(concat("node '", node.full_name(), "': ", error.what()));
  } catch (const UsageError& error) {
    throw UsageError(concat("node '", node.full_name(), "': ", error.what()));
  }
  require(options.storages.empty() || options.storages.size() == node.outputs.size(), "node '",
          node.full_name(), "': expected a storage for each of ", node.outputs.size(),
          " outputs, got ", options.storages.size());
  for (std::size_t i = 0; i < options.storages.size(); ++i)
    node.outputs[i].storage = std::move(options.storages[i]);
  const int index = static_cast<int>(nodes_.size());
  int& named = by_name_.try_emplace(node.full_name(), -1).first->second;
  require(named < 0, "graph ", name_, ": node '", node.full_name(), "' exists already");
  named = index;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  nodes_.push_back(std::move(node));
  return {index, 0, identity_};
}

std::uint32_t Graph::next_identity() {
  static std::atomic<std::uint32_t> latest = 0;
  std::uint32_t next = 0;
  while (next == 0) next = ++latest;
  return next;
}

bool Graph::owns(Value value) const {
  return (value.graph == 0 || value.graph == identity_) && value.node >= 0 &&
         value.node < static_cast<int>(nodes_.size()) && value.output >= 0 &&
         value.output < static_cast<int>(node(value.node).outputs.size());
}

void Graph::require_own(Value value, std::string_view who) const {
  if (owns(value)) return;
  require(!value.is_absent(), who, ": a value that was never set");
  require(value.graph == 0 || value.graph == identity_, who, ": a value of another graph than '",
          name_, "', whose layers take its own alone");
  throw UsageError(concat(who, ": has no value ", value.node, '@', value.output));
}

const ValueInfo& Graph::info(Value value) const {
  if (!owns(value)) require_own(value, concat("graph '", name_, '\''));
  return node(value.node).output(value.output);
}

std::optional<Shape> Constant::numbers(const Inference&) const {
  constexpr std::int64_t most = 64;  // a list that is longer holds no sizes
  const bool whole = value.dtype() == DType::i64 || value.dtype() == DType::i32;
  if (!whole || value.dims().size() > 1 || value.size() > most) return {};
  const Tensor wide = value.dtype() == DType::i64 ? value : value.cast(DType::i64);
  const auto numbers = wide.values<std::int64_t>();
  return Shape(numbers.begin(), numbers.end());
}

const Tensor* Graph::constant_value(Value value) const {
  if (!owns(value)) require_own(value, concat("graph '", name_, '\''));
  const Node& made_by = producer(value);
  return made_by.is<Constant>() ? &made_by.as<Constant>().value : nullptr;
}

std::optional<Tensor> Graph::known_numbers(Value value) const {
  const ValueInfo& known = info(value);
  if (!known.numbers || !is_known(*known.numbers) || !is_known(known.type.shape)) return {};
  Tensor tensor(DType::i64, {std::ssize(*known.numbers)});
  std::ranges::copy(known_dims(*known.numbers), tensor.values<std::int64_t>().begin());
  if (known.type.dtype != DType::i64) tensor = tensor.cast(known.type.dtype);
  return tensor.reshaped(known_dims(known.type.shape));
}

const State* Graph::find_state(std::string_view state_name) const {
  const int node = find_node(state_name);  // states are called as their nodes
  if (node < 0 || !nodes_[static_cast<std::size_t>(node)].is<StateValue>()) return nullptr;
  const auto node_of = [](const State& each) { return each.current.node; };
  auto found = std::ranges::lower_bound(states_, node, {}, node_of);
  // A text may list them in another order than their nodes.
  if (found == states_.end() || node_of(*found) != node)
    found = std::ranges::find(states_, node, node_of);
  return found == states_.end() ? nullptr : &*found;
}

int Graph::find_node(std::string_view full_name) const {
  const auto found = by_name_.find(std::string(full_name));
  return found == by_name_.end() ? -1 : found->second;
}

Value Graph::find_output(std::string_view output_name) const {
  for (const GraphOutput& output : outputs_)
    if (output.name == output_name) return output.value;
  return absent;
}

std::string Graph::value_name(Value value) const {
  if (!owns(value)) require_own(value, concat("graph '", name_, '\''));
  const std::string base = node(value.node).full_name();
  return value.output == 0 ? base : concat(base, '@', value.output);
}

void OpTable::add(const OpRecord& op) {
  if (const OpRecord* known = find(op.full_name())) {
    require(known == &op, "op ", op.full_name(), " is registered already");
    return;
  }
  ops_.push_back(&op);
  by_name_[op.full_name()] = &op;
}

const OpRecord* OpTable::find(std::string_view full_name) const {
  const auto found = by_name_.find(std::string(full_name));
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace narrowgauge
