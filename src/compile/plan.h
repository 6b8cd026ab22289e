// SPDX-License-Identifier: Apache-2.0
// A graph with everything decided: kernels in order, each with the places of its operands. A plan
// holds for bound shapes and one machine, and for one number of threads or any number.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/machine/floating_environment.h"
#include "compile/packed_memory.h"
#include "compile/quantized_inputs.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

// Where a value lies. `index` counts inputs, states or constants of the plan; an arena offset is in
// bytes.
struct Location {
  enum class Kind : std::uint8_t { none, arena, input, state, constant };
  Kind kind = Kind::none;
  std::int64_t index = 0;
  bool operator==(const Location&) const = default;
};

struct PlanOutput {
  Location location;
  std::string value;  // name of the value of the graph
  TensorType type;
  bool counts_flushed = false;  // an f16 gradient
};

struct PlanStep {
  std::string node, op, implementation;
  KernelFacts facts;
  Phase phase = Phase::forward;
  std::string why;  // this kernel, where others would have taken it too
  std::vector<Location> inputs;
  std::vector<PlanOutput> outputs;
  std::int64_t workspace = 0;  // arena offset
  std::int64_t workspace_bytes = 0;
  std::optional<std::size_t> packing;  // of Plan::packings, which `run` reads
  std::function<void(const KernelCall&)> run;
  std::vector<QuantizedInput> quantized;      // inputs that become bytes
  Math math = Math::none;                     // of a contraction, also one in a fused group
  Subnormals subnormals = Subnormals::flush;  // kept where the plan keeps them, and by ieee and f64
  double flops = 0;                           // of contractions: multiplications and additions
  std::int64_t bytes = 0;  // of operands, each read or written once; none where nothing is run
};

struct PlanState {
  State state;
  std::int64_t bytes = 0;
  Location next;     // copied to the state after the last step; none: in place or unchanged
  Location staging;  // first copied here, when `next` is another state's memory
  bool changes = false;
};

// What a kernel packs from constants, and from states that the plan leaves as they are.
struct PlanPacking {
  // "conv1.weight.packed.1f0c9a3e": plans that pack the same states in the same format share what
  // they make.
  std::string name;
  std::vector<std::string> states;  // that it is made from; without any, it is `made` with the plan
  PackedBytes made;
  // For each input of the step: a constant, the number of one of `states`, or nothing.
  std::vector<std::variant<std::monostate, Tensor, std::size_t>> inputs;
  Packing packing;
  std::shared_ptr<PackedMemory> memory{};  // where it may lie already; nullptr: nowhere

  // Fills `packed` from the values of `states`.
  void make(std::span<const Tensor> states, std::byte* packed) const;
  // What the memory has for these values of `states`, or else makes, and keeps there.
  PackedBytes find_or_make(std::span<const Tensor> states) const;
  // Memory to make it in.
  std::shared_ptr<std::byte> room() const;
};

// Results of the forward pass that the backward pass computes again, to save memory.
struct Recomputation {
  std::vector<std::string> nodes;  // that make them
  std::int64_t saved_bytes = 0;    // of Plan::value_bytes
  double operations = 0;           // a step
};

struct Plan {
  Graph graph;
  std::vector<PlanStep> steps;
  std::vector<TensorType> inputs;
  std::vector<std::string> input_names;
  std::vector<PlanState> states;
  std::vector<PlanPacking> packings;
  std::vector<Tensor> constants;
  std::vector<PlanOutput> outputs;  // of the graph; `value` is the output's name
  // A batch is computed in so many parts, one after another: the first sizes of inputs and outputs
  // are those of a part.
  std::int64_t parts = 1;
  Subnormals subnormals = Subnormals::flush;  // between steps
  std::int64_t arena_bytes = 0;               // values, workspaces and alignment, as planned
  std::int64_t value_bytes = 0;  // most bytes of values alive at once, without workspaces
  Recomputation recomputation;
};

}  // namespace narrowgauge
