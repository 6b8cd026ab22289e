// SPDX-License-Identifier: Apache-2.0
#include "passes/training/hoist_state_functions.h"

#include <map>
#include <set>

#include "base/enumerate.h"
#include "base/hash/sha256.h"
#include "base/hash/xxh64.h"
#include "ir/attributes.h"
#include "ops/pointwise/cast.h"
#include "passes/core/operands.h"
#include "passes/core/rebuild.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// Larger constants are no part of the text that tells a derivation apart, and count as states do.
constexpr std::int64_t most_constant_elements = 65536;

bool is_large_constant(const Node& node) {
  return node.is<Constant>() && node.as<Constant>().value.size() > most_constant_elements;
}

std::int64_t bytes_of(const TensorType& type) {
  return bytes_for(element_count(known_dims(type.shape)), type.dtype);
}

// What a node is made from. A function of small constants is one, unless it is too large to be
// folded: then it counts as a function of states.
enum class Origin : std::uint8_t { data, constant, state, function_of_states };

// Which functions of states a graph reads.
class StateFunctions {
 public:
  explicit StateFunctions(const Graph& graph) : graph_(graph) {
    const int nodes = static_cast<int>(graph.nodes().size());
    for (int i = 0; i < nodes; ++i) origins_.push_back(origin_of_node(i));
    for (const Node& node : graph.nodes())
      if (node.op->info.fusion == Fusion::contraction)
        for (const Value input : node.inputs)
          if (!input.is_absent()) multiplied_.insert(viewed(graph, input));
    for (const GraphOutput& output : graph.outputs()) read_.insert(output.value);
    for (const State& state : graph.states()) read_.insert(state.next);
    for (int i = nodes - 1; i >= 0; --i) choose(i);
  }

  bool is_kept(int node) const { return kept_.contains(node); }
  // Whether a node that is kept, an output or a next value reads the value.
  bool is_read(Value value) const { return read_.contains(value); }

  // The node and all that it is computed from, in their order.
  std::set<int> cone_of(int node) const {
    std::set<int> cone;
    std::vector<int> open{node};
    while (!open.empty()) {
      const int member = open.back();
      open.pop_back();
      if (!cone.insert(member).second) continue;
      for (const Value input : graph_.node(member).inputs)
        if (!input.is_absent()) open.push_back(input.node);
    }
    return cone;
  }

 private:
  Origin origin(int node) const { return origins_[static_cast<std::size_t>(node)]; }

  Origin origin_of_node(int index) const {
    const Node& node = graph_.node(index);
    if (node.is<Constant>()) return is_large_constant(node) ? Origin::state : Origin::constant;
    if (node.is<StateValue>()) {
      const State* const state = graph_.find_state(node.name);
      const bool lasts = state && state->role != Role::control;
      return lasts && state->next == state->current ? Origin::state : Origin::data;
    }
    return origin_of_function(node);
  }

  Origin origin_of_function(const Node& node) const {
    if (node.inputs.empty() || is_random(node) || node.op->kernels().empty()) return Origin::data;
    bool is_small_constant = true;
    for (const ValueInfo& output : node.outputs) {
      if (!is_known(output.type.shape)) return Origin::data;
      if (element_count(known_dims(output.type.shape)) > most_constant_elements)
        is_small_constant = false;
    }
    for (const Value input : node.inputs) {
      if (input.is_absent()) continue;
      if (origin(input.node) == Origin::data) return Origin::data;
      if (origin(input.node) != Origin::constant) is_small_constant = false;
    }
    return is_small_constant ? Origin::constant : Origin::function_of_states;
  }

  // Decides about a node after all that read it.
  void choose(int index) {
    if (origin(index) == Origin::function_of_states) {
      std::int64_t bytes = 0;
      const auto outputs = static_cast<int>(graph_.node(index).outputs.size());
      for (int o = 0; o < outputs; ++o)
        if (is_read({index, o})) bytes += bytes_of(graph_.type({index, o}));
      if (bytes == 0 || is_worth_a_state(index, bytes)) return;
    }
    kept_.insert(index);
    const Values& inputs = graph_.node(index).inputs;
    read_.insert(inputs.begin(), inputs.end());
  }

  // Whether hoist_derived_state makes a state of it.
  bool is_narrow_copy(const Node& node) const {
    const Node* const before = node.is<Cast>() ? &graph_.producer(node.inputs[0]) : nullptr;
    return before && before->is<StateValue>() && is_narrow(node.outputs[0].type.dtype) &&
           graph_.find_state(before->name)->role == Role::parameter;
  }

  bool is_worth_a_state(int index, std::int64_t bytes) const {
    const Node& node = graph_.node(index);
    if (is_view(node)) return false;
    if (is_narrow_copy(node)) return false;
    // Kernels of contractions pack what lasts.
    if (multiplied_.contains({index, 0})) return true;
    std::int64_t bytes_of_sources = 0;
    for (const int member : cone_of(index))
      if (origin(member) == Origin::state) bytes_of_sources += bytes_of(graph_.type({member, 0}));
    return bytes <= bytes_of_sources;
  }

  const Graph& graph_;
  std::vector<Origin> origins_;
  std::set<Value> read_, multiplied_;
  std::set<int> kept_;
};

// Tells derivations apart. Large constants stand in the text as inputs, and by a hash of their
// bytes behind it.
std::string digest_of(const Graph& derivation) {
  Graph text(derivation.name());
  std::string hashes;
  for (const Node& node : derivation.nodes()) {
    if (node.is<Input>() || is_large_constant(node)) {
      text.input(node.name, node.outputs[0].type);
      if (!node.is<Constant>()) continue;
      const Tensor& value = node.as<Constant>().value;
      hashes += concat(' ', xxh64({value.data(), static_cast<std::size_t>(value.bytes())}));
    } else {
      text.add(*node.op, node.attributes, node.inputs, options_of(node));
    }
  }
  for (const GraphOutput& output : derivation.outputs()) text.output(output.name, output.value);
  return sha256_hex(print(text) + hashes).substr(0, 8);
}

// The graph that a value is computed by. A derived state among its sources stands there by its own
// derivation, whose nodes have the names that they had in the graph: one that is there already is
// the same.
class Derivation {
 public:
  Derivation(const Graph& graph, Value value, const std::set<int>& cone) {
    for (const int member : cone) add(graph, member);
    body_.output("value", inside_.at(value));
  }

  State state(const Node& producer, const TensorType& type) {
    State state;
    state.role = Role::derived;
    state.type = type;
    state.name = concat(producer.full_name(), '.', digest_of(body_));
    state.derived_from = std::move(sources_);
    state.derivation = std::make_shared<const Graph>(std::move(body_));
    return state;
  }

 private:
  using Inside = std::map<Value, Value>;

  void add(const Graph& graph, int member) {
    const Node& node = graph.node(member);
    const State* const state = node.is<StateValue>() ? graph.find_state(node.name) : nullptr;
    if (state && state->derivation)
      inside_[{member, 0}] = derived(*state->derivation);
    else if (state)
      inside_[{member, 0}] = source(node);
    else
      copy(node, member, inside_);
  }

  Value source(const Node& node) {
    if (const int known = body_.find_node(node.name); known >= 0) return {known, 0};
    sources_.push_back(node.name);
    return body_.input(node.name, node.outputs[0].type);
  }

  Value derived(const Graph& derivation) {
    Inside inside{{absent, absent}};
    for (const auto& [i, node] : enumerate(derivation.nodes()))
      if (node.is<Input>())
        inside[{i, 0}] = source(node);
      else
        copy(node, i, inside);
    return inside.at(derivation.outputs()[0].value);
  }

  void copy(const Node& node, int index, Inside& inside) {
    int made = body_.find_node(node.full_name());
    if (made < 0 || body_.node(made).op != node.op) {
      NodeOptions options = options_of(node);
      if (made >= 0) options.name = body_.unique_name(node.name);
      Values inputs;
      for (const Value input : node.inputs) inputs.push_back(inside.at(input));
      made = body_.add(*node.op, node.attributes, std::move(inputs), std::move(options)).node;
    }
    for (int o = 0; o < std::ssize(node.outputs); ++o) inside[{index, o}] = {made, o};
  }

  Graph body_{"derivation"};
  std::vector<std::string> sources_;
  Inside inside_{{absent, absent}};
};

State state_of_function(const Graph& graph, Value value, const std::set<int>& cone) {
  return Derivation(graph, value, cone).state(graph.producer(value), graph.type(value));
}

}  // namespace

Graph hoist_state_functions(const Graph& graph) {
  const StateFunctions functions(graph);
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    if (functions.is_kept(i)) {
      rebuild.copy(i);
      continue;
    }
    for (int o = 0; o < static_cast<int>(graph.node(i).outputs.size()); ++o)
      if (functions.is_read({i, o}))
        rebuild.map({i, o},
                    rebuild.graph().state(state_of_function(graph, {i, o}, functions.cone_of(i))));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
