// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "base/enumerate.h"
#include "base/hash/sha256.h"
#include "base/indexed_vector.h"
#include "compile/choose_kernels.h"
#include "compile/choose_recomputed.h"
#include "compile/compile.h"
#include "compile/memory_plan.h"
#include "groups/fused.h"
#include "ops/index/gather.h"
#include "ops/shape/slice.h"
#include "passes/core/operands.h"
#include "passes/core/rebuild.h"
#include "precision/subnormals.h"

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
    if (!options.target.fast_math || options.subnormals == Subnormals::keep)
      plan_.subnormals = Subnormals::keep;
  }

  Plan run() {
    read_ = values_read(graph());
    add_sources();
    std::vector<ChosenKernel> kernels = choose_kernels(graph(), read_, options_);
    for (const auto& [i, kernel] : enumerate(kernels))
      if (!is_source(graph().node(i))) add_step(i, std::move(kernel));
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
    return roots_.add({location, bytes, first, first});
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
      if (state.next != state.current) written_.try_emplace(state.next, &state);
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
    if (offer.packing.bytes > 0) step.packing = add_packing(node, std::move(offer.packing));
    step.run = std::move(offer.run);
    step.quantized = quantized_inputs(graph(), node);
    step.math = math_of(node);
    step.subnormals = subnormals_in(node, step.math);
    step.flops = flops_of(graph(), node);
    const int at = end();
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (!node.inputs[k].is_absent()) step.bytes += bytes_read(node, index, k);
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      const Value value{index, o};
      const bool present = is_computed(graph(), value, read_);
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
    in_place_.add(std::move(offer.in_place));
    step_node_.add(index);
    plan_.steps.push_back(std::move(step));
  }

  // The index of the packing among the plan's.
  std::size_t add_packing(const Node& node, Packing packing) {
    PlanPacking added;
    added.inputs.resize(node.inputs.size());
    for (const int port : packing.inputs) add_source(added, port, node.input(port));
    added.name += concat("packed.", sha256_hex(packing.format).substr(0, 16));
    added.packing = std::move(packing);
    added.memory = options_.packed;
    if (added.states.empty()) added.made = added.find_or_make({});
    const auto known = std::ranges::find_if(plan_.packings, [&](const PlanPacking& each) {
      return !each.states.empty() && each.name == added.name;
    });
    const auto index = static_cast<std::size_t>(known - plan_.packings.begin());
    if (index == plan_.packings.size()) plan_.packings.push_back(std::move(added));
    return index;
  }

  void add_source(PlanPacking& packing, int port, Value read) const {
    const Value value = viewed(graph(), read);
    if (value != read) packing.name += concat(graph().type(read), '.');
    auto& input = packing.inputs[static_cast<std::size_t>(port)];
    if (const Tensor* const constant = graph().constant_value(value)) {
      input = *constant;
      packing.name += graph().value_name(value) + '.';
      return;
    }
    const State* const state = graph().find_state(graph().producer(value).name);
    NG_INVARIANT(state);
    input = packing.states.size();
    packing.states.push_back(state->name);
    packing.name += state->name + '.';
  }

  // The output inside the body of a fused group.
  static const GraphOutput& inner_output(const Node& group, int output) {
    return group.as<Fused>().body->outputs()[static_cast<std::size_t>(output)];
  }

  // A value's name; in a fused group it is the name inside the body.
  std::string value_name(const Node& node, Value value) const {
    if (node.is<Fused>()) return inner_output(node, value.output).name;
    return graph().value_name(value);
  }

  // The phase of an output; in a group of several phases each value has its own in the body.
  static Phase phase_of(const Node& node, int output) {
    if (!node.is<Fused>()) return node.phase;
    return node.as<Fused>().body->producer(inner_output(node, output).value).phase;
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

  Subnormals subnormals_in(const Node& node, Math math) const {
    const auto is_f64 = [](DType dtype) { return dtype == DType::f64; };
    const bool wide = std::ranges::any_of(node.outputs, is_f64,
                                          [](const auto& info) { return info.type.dtype; }) ||
                      std::ranges::any_of(node.inputs, [&](const Value& value) {
                        return !value.is_absent() && is_f64(graph().type(value).dtype);
                      });
    return wide || plan_.subnormals == Subnormals::keep ? Subnormals::keep : subnormals_of(math);
  }

  void alias(const Node& node, int index, int input, int output) {
    root_of_[{index, output}] = root(node.input(input));
  }

  int root(Value value) const {
    int at = root_of_.at(value);
    while (at >= 0 && roots_[at].joined >= 0) at = roots_[at].joined;
    return at;
  }

  void use(Value value, int step) {
    const int at = root(value);
    if (at >= 0) roots_[at].last = std::max(roots_[at].last, step);
  }

  void find_lifetimes() {
    for (int s = 0; s < end(); ++s)
      for (const Value& value : graph().node(step_node_[s]).inputs)
        if (!value.is_absent()) use(value, s);
    for (const GraphOutput& output : graph().outputs()) use(output.value, end());
    for (const State& state : graph().states())
      if (state.next != state.current) use(state.next, end());
  }

  // Lets outputs use the memory of an input that dies in their step, and the next value of a state
  // use the state's own.
  void share_memory() {
    for (int s = 0; s < end(); ++s)
      for (const auto& [input, output] : in_place_[s]) try_in_place(s, input, output);
  }

  const State* state_written_by(Value value) const {
    const auto found = written_.find(value);
    return found == written_.end() ? nullptr : found->second;
  }

  void try_in_place(int s, int input, int output) {
    const int index = step_node_[s];
    const Node& node = graph().node(index);
    const Value from = node.inputs.at(static_cast<std::size_t>(input)), to{index, output};
    if (from.is_absent() || root(to) < 0 || taken_.contains(to)) return;
    const int source = root(from), target = root(to);
    Root& a = roots_[source];
    Root& b = roots_[target];
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
      if (at < 0 || roots_[at].location.kind != Location::Kind::none) continue;
      const Root& r = roots_[at];
      buffers.push_back({r.bytes, r.first, r.last, 0});
      owner.push_back(at);
    }
    plan_.value_bytes = peak_bytes(buffers);
    for (const auto& [s, step] : enumerate(plan_.steps))
      buffers.push_back({step.workspace_bytes, s, s, 0});
    add_staging(buffers);
    plan_.arena_bytes = place_buffers(buffers);
    auto placed = buffers.begin();
    for (const int at : owner) roots_[at].location = {Location::Kind::arena, (placed++)->offset};
    for (PlanStep& step : plan_.steps) step.workspace = (placed++)->offset;
    for (PlanState& state : plan_.states)
      if (state.staging.kind == Location::Kind::arena) state.staging.index = (placed++)->offset;
  }

  // Copies a state's next value aside first if it lies in another state's memory.
  void add_staging(std::vector<BufferRequest>& buffers) {
    for (PlanState& state : plan_.states) {
      if (!state.changes) continue;
      const Location& next = roots_[root(state.state.next)].location;
      const Location& own = roots_[root(state.state.current)].location;
      if (next.kind != Location::Kind::state || next == own) continue;
      state.staging.kind = Location::Kind::arena;
      buffers.push_back({state.bytes, end(), end(), 0});
    }
  }

  Location location_of(Value value) const {
    const int at = value.is_absent() ? -1 : root(value);
    return at < 0 ? Location{} : roots_[at].location;
  }

  void resolve() {
    for (const auto& [s, step] : enumerate(plan_.steps)) {
      const int index = step_node_[s];
      for (const Value& value : graph().node(index).inputs)
        step.inputs.push_back(location_of(value));
      for (const auto& [o, output] : enumerate(step.outputs))
        output.location = location_of({index, o});
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
  IndexedVector<int, Root> roots_;
  std::map<Value, int> root_of_;  // -1: an output that nobody reads
  std::set<Value> read_, taken_;
  std::map<Value, const State*> written_;              // the first state that takes each value
  IndexedVector<int, int> step_node_;                  // of each step
  IndexedVector<int, std::vector<InPlace>> in_place_;  // of each step
};

}  // namespace

Plan make_plan(Graph graph, const CompileOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  return Planner(std::move(graph), options).run();
}

}  // namespace narrowgauge
