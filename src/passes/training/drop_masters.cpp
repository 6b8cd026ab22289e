// SPDX-License-Identifier: Apache-2.0
#include "passes/training/drop_masters.h"

#include <algorithm>

#include "ops/nn/random_key.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/training/round_weight.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

// The place of a port; -1: none.
int place_of(const std::vector<Port>& ports, std::string_view name) {
  const auto found = std::ranges::find(ports, name, &Port::name);
  return found == ports.end() ? -1 : static_cast<int>(found - ports.begin());
}

// A state on its way to a narrow format.
struct NarrowState {
  const State* source = nullptr;
  DType dtype = DType::bf16;
  Value current{};            // in the new graph
  Value wide{}, wide_next{};  // made on demand, in f32
  Value compensation{}, random_key{};

  bool changes() const { return source->next != source->current; }
  std::string part(std::string_view name) const { return concat(source->name, '.', name); }
};

class MasterDropping {
 public:
  MasterDropping(const Graph& graph, const StateFormats& formats, WeightRounding rounding)
      : source_(graph), rounding_(rounding), rebuild_(graph) {
    for (const State& state : graph.states()) {
      const auto format = formats.find(state.name);
      if (format == formats.end() || state.type.dtype != DType::f32) continue;
      NarrowState& narrow = states_[state.current.node];
      narrow.source = &state;
      narrow.dtype = format->second;
      if (!narrow.changes()) continue;
      updates_[state.next.node] = state.current.node;
      next_values_[state.next] = state.current.node;
    }
  }

  Graph run() {
    for (int i = 0; i < static_cast<int>(source_.nodes().size()); ++i) add(i);
    for (const State& state : source_.states())
      graph().set_next(state.name, rebuild_.mapped(state.next));
    for (const GraphOutput& output : source_.outputs())
      graph().output(output.name, read(output.value));
    return std::move(graph());
  }

 private:
  void add(int index) {
    const Node& node = source_.node(index);
    if (const auto own = states_.find(index); own != states_.end()) {
      add_state(own->second);
      return;
    }
    const NarrowState* const read_state = narrow_source(node);
    if (read_state && node.is<Cast>() && node.outputs[0].type.dtype == read_state->dtype)
      rebuild_.map({index, 0}, read_state->current);
    else if (const auto update = updates_.find(index); update != updates_.end())
      add_update(index, states_.at(update->second));
    else
      rebuild_.copy(index, node.attributes, read(node.inputs));
  }

  Graph& graph() { return rebuild_.graph(); }

  NarrowState* narrow_source(const Node& node) {
    if (node.inputs.empty() || node.inputs[0].is_absent()) return nullptr;
    const auto state = states_.find(node.inputs[0].node);
    return state == states_.end() ? nullptr : &state->second;
  }

  static NodeOptions options_of_part(const NarrowState& state, std::string_view name) {
    return {.name = state.part(name), .origin = state.source->name, .phase = Phase::update};
  }

  void add_state(NarrowState& state) {
    State narrow = *state.source;
    narrow.type.dtype = state.dtype;
    if (narrow.initial.kind == Initial::Kind::data)
      narrow.initial.data = narrow.initial.data.cast(state.dtype);
    state.current = graph().state(std::move(narrow));
    rebuild_.map(state.source->current, state.current);
  }

  // What a node reads: states, and their next values, in f32 as before.
  Value read(Value input) {
    if (const auto found = states_.find(input.node); found != states_.end())
      return widened(found->second.wide, found->second.current, found->second);
    const auto next = next_values_.find(input);
    if (next == next_values_.end()) return rebuild_.mapped(input);
    NarrowState& state = states_.at(next->second);
    return widened(state.wide_next, rebuild_.mapped(input), state);
  }

  Values read(const Values& inputs) {
    Values now;
    for (const Value input : inputs) now.push_back(read(input));
    return now;
  }

  Value widened(Value& made, Value narrow, const NarrowState& state) {
    if (!made.is_absent()) return made;
    const Phase phase = graph().producer(narrow).phase;
    return made = graph().add(Cast{.to = DType::f32}, {narrow},
                              {.name = graph().unique_name(state.part("to_f32")),
                               .origin = state.source->name,
                               .phase = phase});
  }

  // The state or key that the rounding needs; both absent for rounding to nearest.
  void add_rounding(NarrowState& state) {
    if (rounding_ == WeightRounding::stochastic)
      state.random_key = graph().add(RandomKey{}, {}, options_of_part(state, "rounding"));
    if (rounding_ != WeightRounding::kahan) return;
    State lost;
    lost.name = state.part("compensation");
    lost.role = Role::moment;
    lost.type = {state.dtype, state.source->type.shape};
    lost.initial = Initial::constant(0);
    state.compensation = graph().state(std::move(lost));
  }

  void set_next(const NarrowState& state, Value next, Value next_compensation) {
    rebuild_.map(state.source->next, next);
    if (!state.compensation.is_absent())
      graph().set_next(state.part("compensation"), next_compensation);
  }

  void add_update(int index, NarrowState& state) {
    const Node& node = source_.node(index);
    add_rounding(state);
    const std::vector<Port>&ins = node.op->inputs, &outs = node.op->outputs;
    const int compensation = place_of(ins, "compensation"), key = place_of(ins, "random_key");
    const int lost = place_of(outs, "next_compensation");
    if (compensation < 0 || key < 0 || lost < 0) return round_result(index, state);
    Values inputs(ins.size(), absent);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      inputs[i] = node.inputs[i] == state.source->current ? state.current : read(node.inputs[i]);
    inputs[static_cast<std::size_t>(compensation)] = state.compensation;
    inputs[static_cast<std::size_t>(key)] = state.random_key;
    NodeOptions options = options_of(node);
    options.storages.clear();  // the compensation is one more output; all of an update lie plain
    const int made =
        graph().add(*node.op, node.attributes, std::move(inputs), std::move(options)).node;
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
      rebuild_.map({index, o}, {made, o});
    set_next(state, rebuild_.mapped(state.source->next), {made, lost});
  }

  // Rounds the result of an op that takes and makes the weight in f32.
  void round_result(int index, NarrowState& state) {
    const Node& node = source_.node(index);
    Values inputs;
    for (const Value input : node.inputs)
      inputs.push_back(input == state.source->current ? exact(state) : read(input));
    rebuild_.copy(index, node.attributes, std::move(inputs));
    const Value made = rebuild_.mapped(state.source->next);
    const int applied = place_of(node.op->inputs, "applied");
    if (applied < 0)
      return set_next(state,
                      graph().add(Cast{.to = state.dtype}, {made}, options_of_part(state, "round")),
                      state.compensation);
    const Value rounded = graph().add(RoundWeight{},
                                      {state.current, made, rebuild_.mapped(node.input(applied)),
                                       state.compensation, state.random_key},
                                      options_of_part(state, "round"));
    set_next(state, rounded, {rounded.node, 1});
  }

  // The value that the update goes on from.
  Value exact(NarrowState& state) {
    const Value wide = widened(state.wide, state.current, state);
    if (state.compensation.is_absent()) return wide;
    const Value lost =
        graph().add(Cast{.to = DType::f32}, {state.compensation}, options_of_part(state, "lost"));
    return graph().add(Add{}, {wide, lost}, options_of_part(state, "exact"));
  }

  const Graph& source_;
  WeightRounding rounding_;
  Rebuild rebuild_;
  std::map<int, NarrowState> states_;  // by their node
  std::map<int, int> updates_;         // the node that makes a state's next value, and the state's
  std::map<Value, int> next_values_;   // the next value, and the state's node
};

}  // namespace

Graph drop_masters(const Graph& graph, const StateFormats& formats, WeightRounding rounding) {
  return MasterDropping(graph, formats, rounding).run();
}

}  // namespace narrowgauge
