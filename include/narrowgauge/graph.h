// SPDX-License-Identifier: Apache-2.0
// The graph: nodes in topological order, immutable once added, with inputs, states and outputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// What is known of a value.
struct ValueInfo {
  TensorType type;                    // its logical shape and dtype
  Storage storage = {};               // how it lies in memory
  std::optional<Shape> numbers = {};  // what a scalar or list of whole numbers holds, where known
};

// Which part of a training step a node belongs to; in graphs that only predict all are `forward`. A
// node made for another one (a cast, another layout, a part) belongs where that one does.
enum class Phase : std::uint8_t { forward, backward, update };
NG_API std::string_view name(Phase phase);        // "forward", "backward", "update"
NG_API Phase parse_phase(std::string_view text);  // throws UsageError

// One op with its inputs, as it stands in a graph.
struct Node {
  const OpRecord* op = nullptr;    // what it computes
  Attributes attributes;           // of this op
  Values inputs;                   // one for each port; absent ones have no node
  std::vector<ValueInfo> outputs;  // one for each output port
  std::string name;                // unique together with `instance`
  int instance = 0;    // > 0: a recomputation of the node of this name; random numbers are the same
  std::string origin;  // for people: the node this one was made for; "" for itself
  Phase phase = Phase::forward;  // part of the step
  Math math = Math::none;        // of a contraction; none until a precision plan is applied
  // The format of the autocast scope that it was added in: f16 or bf16, f32 where the scope keeps
  // its nodes so, nothing outside of any. See Network::autocast().
  std::optional<DType> autocast = {};

  // What it reads at a port, absent or not.
  Value input(int port) const { return inputs[static_cast<std::size_t>(port)]; }
  // What is known of an output.
  const ValueInfo& output(int port) const { return outputs[static_cast<std::size_t>(port)]; }
  std::string full_name() const;  // "conv1", "conv1#1"
  // Whether the op is T.
  template <class T>
  bool is() const {
    return op == &record_of<T>() ||
           (op && op->info.name == T::info.name && op->info.domain == T::info.domain);
  }
  // The attributes as T, the struct of the op; is<T>() must hold.
  template <class T>
  const T& as() const {
    return attributes.as<T>();
  }
};

// The initial value of a state.
struct NG_API Initial {
  // How the numbers are made.
  enum class Kind : std::uint8_t { constant, uniform, normal, data, truncated_normal };
  Kind kind = Kind::constant;  // which of the numbers below count
  double a = 0, b = 0;         // constant: a; uniform: a to b; normals: mean a, deviation b
  Tensor data;                 // data: the values themselves
  // Every element is `value`.
  static Initial constant(double value) { return {Kind::constant, value, 0, {}}; }
  // In [low, high).
  static Initial uniform(double low, double high) { return {Kind::uniform, low, high, {}}; }
  static Initial normal(double mean, double deviation) {  // normal numbers
    return {Kind::normal, mean, deviation, {}};
  }
  // Normal numbers; those beyond two deviations are drawn again, leaving 0.88 of the deviation.
  static Initial truncated_normal(double mean, double deviation) {
    return {Kind::truncated_normal, mean, deviation, {}};
  }
  // The values of a tensor.
  static Initial of(Tensor tensor) { return {Kind::data, 0, 0, std::move(tensor)}; }
};

// parameter: trained.  statistic: running averages.  moment: of the optimizer.  control: loss
// scale, counters.  derived: a function of other states (narrow copies), not saved.
enum class Role : std::uint8_t { parameter, statistic, moment, control, derived };
NG_API std::string_view name(Role role);        // "parameter", "statistic", ...
NG_API Role parse_role(std::string_view text);  // throws UsageError

// What outlives a step: a value that the next step begins with.
struct State {
  std::string name;             // unique in the graph; of its State node too
  Role role = Role::parameter;  // what it is for
  TensorType type;              // of the current and the next value
  Initial initial;              // where training begins
  Value current;                // the output of its State node
  Value next;                   // what it holds after the step; `current` when it does not change
  Region derivation{};          // role derived: one output, computed from `derived_from`
  std::vector<std::string> derived_from{};  // states, in the order of its inputs
};

// A value that a graph gives to whoever runs it.
struct GraphOutput {
  std::string name;  // unique among the outputs
  Value value;       // what it is in the graph
};

// Input and StateValue stand for what comes from outside; Constant holds a tensor.
struct NG_API Input {
  static constexpr OpInfo info{.name = "Input", .domain = "ng", .inputs = "", .outputs = "x:any"};
  TensorType type;  // of what comes in
  static void attributes(auto& self, auto&& visit) { visit("type", self.type); }
  TensorTypes infer(const Inference&) const { return {type}; }
  static std::span<const Kernel> kernels() { return {}; }
};
// The current value of a state.
struct NG_API StateValue {
  static constexpr OpInfo info{.name = "State", .domain = "ng", .inputs = "", .outputs = "x:any"};
  TensorType type;  // of the state
  static void attributes(auto& self, auto&& visit) { visit("type", self.type); }
  TensorTypes infer(const Inference&) const { return {type}; }
  static std::span<const Kernel> kernels() { return {}; }
};
// A tensor that is known when the graph is built.
struct NG_API Constant {
  static constexpr OpInfo info{.name = "Constant", .inputs = "", .outputs = "x:any"};
  Tensor value;  // shared, not copied
  static void attributes(auto& self, auto&& visit) { visit("value", self.value); }
  TensorTypes infer(const Inference&) const { return {value.type()}; }
  std::optional<Shape> numbers(const Inference&) const;  // of a short list of whole numbers
  static std::span<const Kernel> kernels() { return {}; }
};

// What a node has besides its op and inputs.
struct NodeOptions {
  std::string name = "";               // "" makes one from the op
  std::string origin = "";             // the node it is made for; "" takes the scope's
  std::optional<Phase> phase = {};     // none: the scope's
  int instance = 0;                    // > 0: a recomputation, see Node
  Math math = Math::none;              // of a contraction
  std::vector<Storage> storages = {};  // of the outputs; empty: plain
  std::optional<DType> autocast = {};  // see Node; none: the scope's
};
// Whether it is an input, a state or a constant, which no kernel computes.
NG_API bool is_source(const Node& node);
// The options that make another node like this one.
NG_API NodeOptions options_of(const Node& node);

// What nodes that are added one after another have in common.
struct NodeScope {
  std::string prefix = "";             // of the names of nodes added without a name
  std::string origin = "";             // of nodes added without one
  Phase phase = Phase::forward;        // of nodes added without one
  std::optional<DType> autocast = {};  // see Node; of nodes added without one
};

// A graph that grows by add(). Nodes stand in an order in which they can run. A value: any number
// of threads may read one at once, whoever adds to it has it alone.
class NG_API Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}  // an empty graph
  ~Graph() = default;                                                     // with all its nodes
  Graph(const Graph&) = default;             // another with the same values
  Graph& operator=(const Graph&) = default;  // the same
  Graph(Graph&&) noexcept = default;         // the other is empty then
  // The same; a graph that is moved onto itself stays as it is.
  Graph& operator=(Graph&& other) noexcept {
    if (this == &other) return *this;
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }

  // A value from outside; throws UsageError where the name is taken.
  Value input(std::string name, TensorType type);
  // Its current value. `next` starts as the current value; see set_next().
  Value state(State state);
  // Its value is known to passes and to infer().
  Value constant(Tensor value, std::string name = "");
  // Its value after the step; throws UsageError for another type.
  void set_next(std::string_view state, Value next);
  void output(std::string name, Value value);  // names a value for whoever runs the graph

  // Checks ports and types, infers the outputs. Throws UsageError naming the node. Returns the
  // first output; the others are Value{result.node, i}.
  template <Op T>
  Value add(T op, Values inputs, NodeOptions options = {}) {
    return add(record_of<T>(), Attributes::of(std::move(op)), std::move(inputs),
               std::move(options));
  }
  // The same with an op known only when the program runs.
  Value add(const OpRecord& op, Attributes attributes, Values inputs, NodeOptions options = {});

  const std::string& name() const { return name_; }             // of the graph
  void set_name(std::string name) { name_ = std::move(name); }  // for people only
  std::span<const Node> nodes() const { return nodes_; }        // in topological order
  // By its place in nodes().
  const Node& node(int index) const { return nodes_.at(static_cast<std::size_t>(index)); }
  // The node whose output the value is.
  const Node& producer(Value value) const { return node(value.node); }
  const ValueInfo& info(Value value) const;  // type and storage; UsageError as require_own()
  const TensorType& type(Value value) const { return info(value).type; }  // of the value
  // Throws UsageError, beginning with `who`, for a value that was never set, one of another graph,
  // and one that this graph does not have.
  void require_own(Value value, std::string_view who) const;
  const Tensor* constant_value(Value value) const;  // nullptr unless produced by a Constant
  // The value where ValueInfo::numbers tells it without symbols.
  std::optional<Tensor> known_numbers(Value value) const;
  const Values& inputs() const { return inputs_; }                      // in the order of input()
  const std::vector<State>& states() const { return states_; }          // in the order of state()
  const State* find_state(std::string_view name) const;                 // nullptr: none
  const std::vector<GraphOutput>& outputs() const { return outputs_; }  // in the order of output()
  int find_node(std::string_view full_name) const;                      // -1: none
  Value find_output(std::string_view name) const;                       // absent: none
  std::string value_name(Value value) const;                            // "conv1", "bn1@2"

  // Applies to nodes added from now on.
  void set_scope(NodeScope scope) { scope_ = std::move(scope); }
  const NodeScope& scope() const { return scope_; }  // as set last
  // Names that are made up from now on are those of no node of `other` either, whose nodes may
  // still be added by their names.
  void keep_names_for(const Graph& other);
  // A name that is not taken: `base`, `base_2`, ...
  std::string unique_name(const std::string& base) const;

 private:
  friend struct GraphBuilder;
  static std::uint32_t next_identity();
  bool owns(Value value) const;
  std::string name_;
  std::uint32_t identity_ = next_identity();  // a copy keeps it, for it has the same values
  std::vector<Node> nodes_;
  Values inputs_;
  std::vector<State> states_;
  std::vector<GraphOutput> outputs_;
  std::unordered_map<std::string, int> by_name_;  // -1: kept for a node to come
  mutable std::unordered_map<std::string, int> name_counters_;
  NodeScope scope_;
};

// Throws InternalError naming node and rule when the graph is not legal after `stage`.
NG_API void verify(const Graph& graph, Stage stage);

// Finds ops by their full name when a graph is read.
class NG_API OpTable {
 public:
  void add(const OpRecord& op);  // throws UsageError when the name is taken by another op
  const OpRecord* find(std::string_view full_name) const;        // nullptr: none of this name
  std::span<const OpRecord* const> all() const { return ops_; }  // in the order of add()

 private:
  std::vector<const OpRecord*> ops_;
  std::unordered_map<std::string, const OpRecord*> by_name_;
};

// Text form; parse undoes print. ModelError names line and column, also for a rule of `verify`.
NG_API std::string print(const Graph& graph);
// Reads a graph; `ops` has the ops by name.
NG_API Graph parse(std::string_view text, const OpTable& ops);
// "keepdims=0, axis=1" as attributes; throws ModelError.
NG_API Attributes parse_attributes(std::string_view text, const OpRecord& op, const OpTable& ops);
// Those that differ from the default.
NG_API std::string print_attributes(const OpRecord& op, const Attributes& attributes);
// Whether two sets of attributes of one op print and parse alike.
NG_API bool equal(const OpRecord& op, const Attributes& a, const Attributes& b);

template <class T>
Value Rewriting::add(T op, Values inputs) {
  return graph_.add(std::move(op), std::move(inputs));
}

}  // namespace narrowgauge
