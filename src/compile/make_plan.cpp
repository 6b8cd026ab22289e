// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "compile/choose_kernels.h"
#include "compile/choose_recomputed.h"
#include "compile/compile.h"
#include "compile/memory_plan.h"
#include "groups/fused.h"
#include "ops/shape/gather.h"
#include "ops/shape/slice.h"
#include "passes/operands.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

// Values that share memory have one root, which they are views of or were computed in place of.
struct Root {
  Location location;  // none: to be placed in the arena
  std::int64_t bytes = 0;
  int first = 0, last = 0;
  int joined = -1;  // the root whose memory it took over; -1: none
};

class Planner {
 public:
  Planner(Graph graph, const CompileOptions& options) : options_(options) {
    plan_.graph = std::move(graph);
  }

  Plan run() {
    read_ = values_read(graph());
    add_sources();
    std::vector<ChosenKernel> kernels = choose_kernels(graph(), read_, options_);
    for (int i = 0; i < node_count(); ++i)
      if (!is_source(graph().node(i))) add_step(i, std::move(kernels[static_cast<std::size_t>(i)]));
    find_lifetimes();
    share_memory();
    place();
    resolve();
    plan_.recomputation = recomputation_of(graph());
    if (options_.kernels) options_.kernels->save();
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }
  int node_count() const { return static_cast<int>(graph().nodes().size()); }
  // The step after the last: what the host reads or is copied to states lives until then.
  int end() const { return static_cast<int>(plan_.steps.size()); }

  std::int64_t bytes_of(Value value) const {
    const ValueInfo& info = graph().info(value);
    const std::int64_t count = stored_elements(known_dims(info.type.shape), info.storage);
    require(count <= Tensor::most_elements, "node '", graph().producer(value).full_name(),
            "': ", info.type, " is too large");
    return bytes_for(count, info.type.dtype);
  }

  int new_root(Location location, std::int64_t bytes, int first) {
    roots_.push_back({location, bytes, first, first});
    return static_cast<int>(roots_.size()) - 1;
  }

  void add_source(Value value, Location::Kind kind, std::size_t index) {
    root_of_[value] = new_root({kind, static_cast<std::int64_t>(index)}, bytes_of(value), 0);
  }

  void add_sources() {
    for (const Value& value : graph().inputs()) {
      add_source(value, Location::Kind::input, plan_.inputs.size());
      plan_.inputs.push_back(graph().type(value));
      plan_.input_names.push_back(graph().value_name(value));
    }
    for (const State& state : graph().states()) {
      add_source(state.current, Location::Kind::state, plan_.states.size());
      plan_.states.push_back({state, bytes_of(state.current), {}, {}, state.next != state.current});
    }
    for (int i = 0; i < node_count(); ++i)
      if (graph().node(i).is<Constant>()) {
        add_source({i, 0}, Location::Kind::constant, plan_.constants.size());
        plan_.constants.push_back(graph().node(i).as<Constant>().value);
      }
  }

  void add_step(int index, ChosenKernel chosen) {
    const Node& node = graph().node(index);
    Offer& offer = chosen.offer;
    PlanStep step;
    step.why = std::move(chosen.why);
    step.node = node.full_name();
    step.op = node.op->full_name();
    step.implementation = offer.implementation;
    step.facts = offer.facts;
    step.phase = node.phase;
    step.workspace_bytes = offer.workspace;
    step.run = std::move(offer.run);
    step.math = math_of(node);
    step.flops = flops_of(graph(), node);
    const int at = end();
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (!node.inputs[k].is_absent()) step.bytes += bytes_read(node, index, k);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      const Value value{index, o};
      const bool present = read_.contains(value);
      if (present) step.bytes += bytes_of(value);
      root_of_[value] = present ? new_root({}, bytes_of(value), at) : -1;
      const TensorType& type = graph().type(value);
      const bool gradient = phase_of(node, o) == Phase::backward && node.instance == 0;
      step.outputs.push_back(
          {{}, value_name(node, value), type, gradient && type.dtype == DType::f16});
    }
    for (const auto& [input, output] : offer.aliases) alias(node, index, input, output);
    if (!offer.aliases.empty()) {
      step.run = nullptr;
      step.bytes = 0;
    }
    in_place_.push_back(std::move(offer.in_place));
    step_node_.push_back(index);
    plan_.steps.push_back(std::move(step));
  }

  // A value's name; in a fused group it is the name inside the body.
  std::string value_name(const Node& node, Value value) const {
    if (node.is<Fused>())
      return node.as<Fused>().body->outputs()[static_cast<std::size_t>(value.output)].name;
    return graph().value_name(value);
  }

  // The phase of an output; in a group of several phases each value has its own in the body.
  static Phase phase_of(const Node& node, int output) {
    if (!node.is<Fused>()) return node.phase;
    const Graph& body = *node.as<Fused>().body;
    return body.producer(body.outputs()[static_cast<std::size_t>(output)].value).phase;
  }

  // Ops that pick elements out of their first input read as many as they write.
  std::int64_t bytes_read(const Node& node, int index, std::size_t input) const {
    const std::int64_t bytes = bytes_of(node.inputs[input]);
    const bool picks = input == 0 && (node.is<Gather>() || node.is<Slice>());
    return picks ? std::min(bytes, bytes_of({index, 0})) : bytes;
  }

  static Math math_of(const Node& node) {
    if (!node.is<Fused>()) return node.math;
    for (const Node& inner : node.as<Fused>().body->nodes())
      if (inner.op->flops) return inner.math;
    return Math::none;
  }

  void alias(const Node& node, int index, int input, int output) {
    root_of_[{index, output}] = root(node.inputs[static_cast<std::size_t>(input)]);
  }

  int root(Value value) const {
    int at = root_of_.at(value);
    while (at >= 0 && roots_[static_cast<std::size_t>(at)].joined >= 0)
      at = roots_[static_cast<std::size_t>(at)].joined;
    return at;
  }

  void use(Value value, int step) {
    const int at = root(value);
    if (at >= 0)
      roots_[static_cast<std::size_t>(at)].last =
          std::max(roots_[static_cast<std::size_t>(at)].last, step);
  }

  void find_lifetimes() {
    for (int s = 0; s < end(); ++s)
      for (const Value& value : graph().node(step_node_[static_cast<std::size_t>(s)]).inputs)
        if (!value.is_absent()) use(value, s);
    for (const GraphOutput& output : graph().outputs()) use(output.value, end());
    for (const State& state : graph().states())
      if (state.next != state.current) use(state.next, end());
  }

  // Lets outputs use the memory of an input that dies in their step, and the next value of a state
  // use the state's own.
  void share_memory() {
    for (int s = 0; s < end(); ++s)
      for (const auto& [input, output] : in_place_[static_cast<std::size_t>(s)])
        try_in_place(s, input, output);
  }

  const State* state_written_by(Value value) const {
    for (const State& state : graph().states())
      if (state.next == value && state.next != state.current) return &state;
    return nullptr;
  }

  void try_in_place(int s, int input, int output) {
    const int index = step_node_[static_cast<std::size_t>(s)];
    const Node& node = graph().node(index);
    const Value from = node.inputs.at(static_cast<std::size_t>(input)), to{index, output};
    if (from.is_absent() || root(to) < 0 || taken_.contains(to)) return;
    const int source = root(from), target = root(to);
    Root& a = roots_[static_cast<std::size_t>(source)];
    Root& b = roots_[static_cast<std::size_t>(target)];
    const auto same_root = [&](Value value) { return !value.is_absent() && root(value) == source; };
    const bool once = std::count_if(node.inputs.begin(), node.inputs.end(), same_root) == 1;
    if (a.last != s || a.bytes != b.bytes || !once || source == target) return;
    if (a.location.kind == Location::Kind::state) {
      const State* state = state_written_by(to);
      if (!state || root(state->current) != source) return;
    } else if (a.location.kind != Location::Kind::none) {
      return;
    }
    a.last = b.last;
    taken_.insert(to);
    b.joined = source;
  }

  void place() {
    std::vector<BufferRequest> buffers, values;
    std::vector<int> owner;
    std::set<int> used;
    for (const auto& made : root_of_) used.insert(root(made.first));
    for (const int at : used) {
      if (at < 0 || roots_[static_cast<std::size_t>(at)].location.kind != Location::Kind::none)
        continue;
      const Root& r = roots_[static_cast<std::size_t>(at)];
      buffers.push_back({r.bytes, r.first, r.last, 0});
      owner.push_back(at);
    }
    plan_.value_bytes = peak_bytes(buffers);
    const std::size_t value_count = buffers.size();
    for (int s = 0; s < end(); ++s)
      buffers.push_back({plan_.steps[static_cast<std::size_t>(s)].workspace_bytes, s, s, 0});
    add_staging(buffers);
    plan_.arena_bytes = place_buffers(buffers);
    for (std::size_t i = 0; i < value_count; ++i)
      roots_[static_cast<std::size_t>(owner[i])].location = {Location::Kind::arena,
                                                             buffers[i].offset};
    for (int s = 0; s < end(); ++s)
      plan_.steps[static_cast<std::size_t>(s)].workspace =
          buffers[value_count + static_cast<std::size_t>(s)].offset;
    std::size_t staged = value_count + static_cast<std::size_t>(end());
    for (PlanState& state : plan_.states)
      if (state.staging.kind == Location::Kind::arena)
        state.staging.index = buffers[staged++].offset;
  }

  // Copies a state's next value aside first if it lies in another state's memory.
  void add_staging(std::vector<BufferRequest>& buffers) {
    for (PlanState& state : plan_.states) {
      if (!state.changes) continue;
      const Location& next = roots_[static_cast<std::size_t>(root(state.state.next))].location;
      const Location& own = roots_[static_cast<std::size_t>(root(state.state.current))].location;
      if (next.kind != Location::Kind::state || next == own) continue;
      state.staging.kind = Location::Kind::arena;
      buffers.push_back({state.bytes, end(), end(), 0});
    }
  }

  Location location_of(Value value) const {
    const int at = value.is_absent() ? -1 : root(value);
    return at < 0 ? Location{} : roots_[static_cast<std::size_t>(at)].location;
  }

  void resolve() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const int index = step_node_[s];
      for (const Value& value : graph().node(index).inputs)
        plan_.steps[s].inputs.push_back(location_of(value));
      for (int o = 0; o < static_cast<int>(plan_.steps[s].outputs.size()); ++o)
        plan_.steps[s].outputs[static_cast<std::size_t>(o)].location = location_of({index, o});
    }
    for (PlanState& state : plan_.states) {
      const Location next = location_of(state.state.next);
      if (state.changes && next != location_of(state.state.current)) state.next = next;
    }
    for (const GraphOutput& output : graph().outputs())
      plan_.outputs.push_back(
          {location_of(output.value), output.name, graph().type(output.value), false});
  }

  const CompileOptions& options_;
  Plan plan_;
  std::vector<Root> roots_;
  std::map<Value, int> root_of_;  // -1: an output that nobody reads
  std::set<Value> read_, taken_;
  std::vector<int> step_node_;
  std::vector<std::vector<InPlace>> in_place_;
};

}  // namespace

Plan make_plan(Graph graph, const CompileOptions& options) {
  return Planner(std::move(graph), options).run();
}

}  // namespace narrowgauge
