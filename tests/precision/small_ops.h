// SPDX-License-Identifier: Apache-2.0
// Ops of each precision class without kernels, ops with regions, and graphs of them.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/op.h"

namespace narrowgauge::small {

#define NG_SMALL_OP_REST(Self)             \
  static void attributes(auto&, auto&&) {} \
  static std::span<const Kernel> kernels() { return {}; }

// Takes any number of inputs of type T; the output is like the first.
#define NG_SMALL_OP(Self, CLASS, FUSION)                                  \
  struct Self {                                                           \
    static constexpr OpInfo info{.name = #Self,                           \
                                 .domain = "small",                       \
                                 .inputs = "x*:T",                        \
                                 .outputs = "y:T",                        \
                                 .precision = CLASS,                      \
                                 .fusion = Fusion::FUSION};               \
    TensorTypes infer(const Inference& in) const { return {in.type(0)}; } \
    NG_SMALL_OP_REST(Self)                                                \
  };

inline constexpr Precision no_class{};
NG_SMALL_OP(Allow, narrowgauge::allow, contraction)
NG_SMALL_OP(Infer, narrowgauge::infer, opaque)
NG_SMALL_OP(Clear, narrowgauge::clear, opaque)
NG_SMALL_OP(Deny, narrowgauge::deny, opaque)
NG_SMALL_OP(DenyF16, narrowgauge::deny_f16, opaque)
NG_SMALL_OP(Unlisted, no_class, opaque)

// An op of a class with a second floating-point input and output of another type variable.
template <Precision precision>
struct Beside {
  static constexpr OpInfo info{.name = precision.f16 == PrecisionClass::allow   ? "AllowBeside"
                                       : precision.f16 == PrecisionClass::infer ? "InferBeside"
                                       : precision.f16 == PrecisionClass::clear ? "ClearBeside"
                                       : precision.f16 == PrecisionClass::deny  ? "DenyBeside"
                                                                                : "UnlistedBeside",
                               .domain = "small",
                               .inputs = "x:T, beside:U",
                               .outputs = "y:T, other:U",
                               .types = "T:float, U:float",
                               .precision = precision};
  TensorTypes infer(const Inference& in) const { return {in.type(0), in.type(1)}; }
  NG_SMALL_OP_REST(Beside)
};

// An op on the allow list whose inference takes f32 only.
struct Stubborn {
  static constexpr OpInfo info{.name = "Stubborn",
                               .domain = "small",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  TensorTypes infer(const Inference& in) const {
    require(in.dtype(0) == DType::f32, "Stubborn: takes f32, got ", in.dtype(0));
    return {in.type(0)};
  }
  NG_SMALL_OP_REST(Stubborn)
};

struct Pinned {
  static constexpr OpInfo info{
      .name = "Pinned", .domain = "small", .inputs = "x:f32", .outputs = "y:f32"};
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  NG_SMALL_OP_REST(Pinned)
};

// Statistics beside T: a second variable.
struct Norm {
  static constexpr OpInfo info{.name = "Norm",
                               .domain = "small",
                               .inputs = "x:T, scale:U",
                               .outputs = "y:T, mean:U",
                               .types = "T:float, U:float",
                               .precision = narrowgauge::infer};
  TensorTypes infer(const Inference& in) const { return {in.type(0), in.type(1)}; }
  NG_SMALL_OP_REST(Norm)
};

// An update: the gradient comes in any format.
struct Update {
  static constexpr OpInfo info{.name = "Update",
                               .domain = "small",
                               .inputs = "p:f32, g:G^",
                               .outputs = "q:f32",
                               .types = "G:float"};
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  NG_SMALL_OP_REST(Update)
};

struct IsPositive {  // takes `any`, and the output does not depend on it
  static constexpr OpInfo info{
      .name = "IsPositive", .domain = "small", .inputs = "x:any", .outputs = "y:bool"};
  TensorTypes infer(const Inference& in) const { return {{DType::boolean, in.shape(0)}}; }
  NG_SMALL_OP_REST(IsPositive)
};

struct PassAny {  // takes `any`, and the output is like it
  static constexpr OpInfo info{
      .name = "PassAny", .domain = "small", .inputs = "x:any", .outputs = "y:any"};
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  NG_SMALL_OP_REST(PassAny)
};

inline void require_ends(const char* op, const Inference& in, int first, const Graph& body) {
  for (int i = 0; i < static_cast<int>(body.inputs().size()); ++i) {
    const TensorType& wanted = body.type(body.inputs()[static_cast<std::size_t>(i)]);
    require(in.type(first + i) == wanted, op, ": input ", first + i, " is ", in.type(first + i),
            ", its region takes ", wanted);
  }
}
inline TensorTypes output_types(const Graph& body) {
  TensorTypes types;
  for (const GraphOutput& output : body.outputs()) types.push_back(body.type(output.value));
  return types;
}

// Runs its body a number of times: the first inputs are carried, the others captured.
struct Repeat {
  static constexpr OpInfo info{
      .name = "Repeat", .domain = "small", .inputs = "x*:any", .outputs = "y*:any"};
  Region body;
  static void attributes(auto& self, auto&& visit) { visit("body", self.body); }
  TensorTypes infer(const Inference& in) const {
    require_ends("Repeat", in, 0, *body);
    const TensorTypes types = output_types(*body);
    for (int o = 0; o < static_cast<int>(types.size()); ++o)
      require(types[static_cast<std::size_t>(o)] == in.type(o), "Repeat: carried value ", o,
              " changes its type");
    return types;
  }
  std::vector<RegionPorts> region_ports(int inputs) const {
    RegionPorts ports;
    for (int i = 0; i < inputs; ++i) ports.inputs.push_back(i);
    for (int o = 0; o < static_cast<int>(body->outputs().size()); ++o) {
      ports.outputs.push_back(o);
      ports.next.push_back(o);
    }
    return {ports};
  }
  static std::span<const Kernel> kernels() { return {}; }
};

// Both branches take all that follows the condition.
struct Either {
  static constexpr OpInfo info{
      .name = "Either", .domain = "small", .inputs = "condition:bool, x*:any", .outputs = "y*:any"};
  Region yes, no;
  static void attributes(auto& self, auto&& visit) {
    visit("yes", self.yes);
    visit("no", self.no);
  }
  TensorTypes infer(const Inference& in) const {
    require_ends("Either", in, 1, *yes);
    require_ends("Either", in, 1, *no);
    require(output_types(*yes) == output_types(*no), "Either: branches differ");
    return output_types(*yes);
  }
  std::vector<RegionPorts> region_ports(int inputs) const {
    RegionPorts ports;
    for (int i = 1; i < inputs; ++i) ports.inputs.push_back(i);
    for (int o = 0; o < static_cast<int>(yes->outputs().size()); ++o) {
      ports.outputs.push_back(o);
      ports.next.push_back(-1);
    }
    return {ports, ports};
  }
  static std::span<const Kernel> kernels() { return {}; }
};

inline State parameter(std::string name, std::string_view type) {
  State state;
  state.name = std::move(name);
  state.type = TensorType::parse(type);
  return state;
}

// What a graph is made of, in an order of one's choice.
struct SmallStep {
  std::string name;
  char kind;  // A I C D U as the classes, x an input
  std::vector<std::string> inputs;
  std::string beside = {};  // read by a port of another type, whose output is "<name>'"
};

inline Value add_beside(Graph& graph, char kind, const Values& inputs, const NodeOptions& options) {
  switch (kind) {
    case 'A':
      return graph.add(Beside<narrowgauge::allow>{}, inputs, options);
    case 'I':
      return graph.add(Beside<narrowgauge::infer>{}, inputs, options);
    case 'C':
      return graph.add(Beside<narrowgauge::clear>{}, inputs, options);
    case 'D':
      return graph.add(Beside<narrowgauge::deny>{}, inputs, options);
    default:
      return graph.add(Beside<no_class>{}, inputs, options);
  }
}

inline Value add_step(Graph& graph, const SmallStep& step,
                      const std::map<std::string, Value>& values) {
  Values inputs;
  for (const std::string& input : step.inputs) inputs.push_back(values.at(input));
  const NodeOptions options{.name = step.name};
  if (!step.beside.empty())
    return add_beside(graph, step.kind, {inputs.at(0), values.at(step.beside)}, options);
  switch (step.kind) {
    case 'x':
      return graph.input(step.name, TensorType::parse("f32[2,3]"));
    case 'A':
      return graph.add(Allow{}, inputs, options);
    case 'I':
      return graph.add(Infer{}, inputs, options);
    case 'C':
      return graph.add(Clear{}, inputs, options);
    case 'D':
      return graph.add(Deny{}, inputs, options);
    default:
      return graph.add(Unlisted{}, inputs, options);
  }
}

inline Graph build(const std::vector<SmallStep>& steps, const std::vector<std::string>& outputs,
                   std::string name = "small") {
  Graph graph(std::move(name));
  std::map<std::string, Value> values;
  for (const SmallStep& step : steps) {
    const Value made = add_step(graph, step, values);
    values[step.name] = made;
    if (!step.beside.empty()) values[step.name + "'"] = {made.node, 1};
  }
  for (const std::string& output : outputs) graph.output(concat("out_", output), values.at(output));
  return graph;
}

// x - first - second - ... of kinds such as "DICICAI"; nodes are n0, n1, ...; the end is read by an
// unlisted node, so that no node of the chain is an output.
inline Graph chain(const std::string& kinds) {
  std::vector<SmallStep> steps{{"x", 'x', {}}};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    steps.push_back({concat("n", i), kinds[i], {steps.back().name}});
  steps.push_back({"end", 'U', {steps.back().name}});
  return build(steps, {"end"}, "chain");
}

// Nodes with inputs among earlier ones; as many of each kind as chance gives. A third of them read
// a value by a port of another type, and make one.
inline std::vector<SmallStep> random_steps(std::mt19937& random, int count) {
  std::vector<SmallStep> steps{{"x0", 'x', {}}, {"x1", 'x', {}}};
  const std::string kinds = "AAIIIICCCCDU";
  for (int i = 0; i < count; ++i) {
    SmallStep step{concat("n", i), kinds[random() % kinds.size()], {}};
    const auto earlier = [&] {
      const std::size_t window = std::min<std::size_t>(steps.size(), 6);
      const SmallStep& from = steps[steps.size() - 1 - random() % window];
      return !from.beside.empty() && random() % 2 == 0 ? from.name + "'" : from.name;
    };
    const std::size_t inputs = 1 + random() % 2;
    for (std::size_t k = 0; k < inputs; ++k) step.inputs.push_back(earlier());
    if (random() % 3 == 0) {
      step.inputs.resize(1);
      step.beside = earlier();
    }
    steps.push_back(step);
  }
  return steps;
}

// The same steps in another topological order.
inline std::vector<SmallStep> permuted(std::vector<SmallStep> steps, std::mt19937& random) {
  std::vector<SmallStep> result;
  std::map<std::string, bool> placed;
  while (!steps.empty()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if ((steps[i].beside.empty() || placed[steps[i].beside]) &&
          std::all_of(steps[i].inputs.begin(), steps[i].inputs.end(),
                      [&](const std::string& input) { return placed[input]; }))
        ready.push_back(i);
    const std::size_t chosen = ready[random() % ready.size()];
    placed[steps[chosen].name] = placed[steps[chosen].name + "'"] = true;
    result.push_back(steps[chosen]);
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return result;
}

}  // namespace narrowgauge::small
