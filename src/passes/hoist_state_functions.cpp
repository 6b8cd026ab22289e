// SPDX-License-Identifier: Apache-2.0
#include "passes/hoist_state_functions.h"

#include <map>
#include <set>

#include "base/sha256.h"
#include "ir/attributes.h"
#include "ops/math/cast.h"
#include "ops/shape/reshape.h"
#include "ops/shape/views.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

// A derivation holds its constants, and its text tells it apart, so that they must be small.
constexpr std::int64_t most_constant_elements = 65536;

bool is_view(const Node& node) {
  return node.is<ReshapeTo>() || node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() ||
         node.is<Unsqueeze>() || node.is<Identity>();
}

std::int64_t bytes_of(const TensorType& type) {
  return bytes_for(element_count(known_dims(type.shape)), type.dtype);
}

// What a node is made from. A function of constants is one, unless it is too large to be folded:
// then it counts as a function of states.
enum class Origin : std::uint8_t { data, constant, state, function_of_states };

// Which functions of states a graph reads.
class StateFunctions {
 public:
  explicit StateFunctions(const Graph& graph) : graph_(graph) {
    const int nodes = static_cast<int>(graph.nodes().size());
    for (int i = 0; i < nodes; ++i) origins_.push_back(origin_of_node(i));
    for (const Node& node : graph.nodes())
      if (node.op->info.fusion == Fusion::contraction)
        multiplied_.insert(node.inputs.begin(), node.inputs.end());
    for (const GraphOutput& output : graph.outputs()) read_.insert(output.value);
    for (const State& state : graph.states()) read_.insert(state.next);
    for (int i = nodes - 1; i >= 0; --i) choose(i);
  }

  bool is_kept(int node) const { return kept_.contains(node); }
  // By a node that is kept, as an output, or as a next value.
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
    if (const Tensor* constant = node.is<Constant>() ? graph_.constant_value({index, 0}) : nullptr)
      return constant->size() <= most_constant_elements ? Origin::constant : Origin::data;
    if (node.is<StateValue>()) {
      const State* const state = graph_.find_state(node.name);
      const bool lasts = state && state->role != Role::control && state->role != Role::derived;
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

  bool is_worth_a_state(int index, std::int64_t bytes) const {
    const Node& node = graph_.node(index);
    if (is_view(node)) return false;
    if (node.is<Cast>() && origin(node.inputs[0].node) == Origin::state) return false;
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

State state_of_function(const Graph& graph, Value value, const std::set<int>& cone) {
  State state;
  state.role = Role::derived;
  state.type = graph.type(value);
  Graph body("derivation");
  std::map<Value, Value> inside{{absent, absent}};
  for (const int member : cone) {
    const Node& node = graph.node(member);
    Value made;
    if (node.is<StateValue>()) {
      made = body.input(node.name, node.outputs[0].type);
      state.derived_from.push_back(node.name);
    } else {
      Values inputs;
      for (const Value input : node.inputs) inputs.push_back(inside.at(input));
      made = body.add(*node.op, node.attributes, inputs, options_of(node));
    }
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
      inside[{member, o}] = {made.node, o};
  }
  body.output("value", inside.at(value));
  const std::string digest = sha256_hex(print(body)).substr(0, 8);
  state.name = concat(graph.producer(value).full_name(), '.', digest);
  state.derivation = std::make_shared<const Graph>(std::move(body));
  return state;
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
