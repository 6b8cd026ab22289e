// SPDX-License-Identifier: Apache-2.0
// Mixed precision as users see it: what to ask for, and the plan that answers: one line of text
// for each node, saying in which format it computes and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/weight_rounding.h"

namespace narrowgauge {

// What precision to ask for.
struct PrecisionRequest {
  DType narrow = DType::f32;     // f16 or bf16 for mixed precision; f32: nothing is narrow
  Math f32_math = Math::f32;     // of contractions in f32, simulated() of all; see kernel.h
  std::string policy = "lists";  // who decides what becomes narrow: one of policy_names()
  // "Sum=deny" changes the class of an op (allow, infer, clear, deny, unlisted), "conv1=f32" the
  // format of a node (f32, f16, bf16). The left side is an op, a node, or a pattern of nodes with *
  // and ?; a node inside a Loop, If or Scan goes by its own name as well as by its entry's, and
  // what nodes of a model file became by the names of these (Node::file_nodes). The last that
  // matches counts. UsageError for one that reaches nothing.
  std::vector<std::string> overrides{};
  // Whether parameters stay in f32. Without, those that only narrow nodes read are kept in the
  // narrow format alone, and updates round them.
  bool master_weights = true;
  WeightRounding rounding = WeightRounding::stochastic;  // of weights without masters
  // Whether the parameters of BatchNormalization stay f32 under policies that cast whole networks:
  // nodes then read them in f32, and without masters they are kept in it.
  bool keep_batch_norm_f32 = true;
  // Weights, moments and all that is computed are f64, by reference kernels: slow, and what other
  // formats are measured by. Nothing can be narrow then.
  bool in_f64 = false;

  bool is_mixed() const { return narrow != DType::f32; }  // whether nodes may become narrow
  bool operator==(const PrecisionRequest&) const = default;
};
NG_API std::vector<std::string>
policy_names();  // "lists", ..., and "f32", which makes nothing narrow

// Which rule of the colouring decided on a node. The list is closed: explain() answers from it.
enum class PrecisionRule : std::uint8_t {
  seed_allow,
  between_allows,
  infer_extension,
  clear_neighbour,
  cast_consumers,
  deny_list,
  deny_propagated,
  unlisted,
  infer_without_allow_producer,
  clear_not_reached,
  preserved_output,
  dtype_not_supported,
  not_f32,
  pinned_type,
  source,
  region,
  override_by_name,
  edited,
  not_requested,
  kept_narrow,
  autocast,
  whole_network,
  after_network,
  reads_narrow,
  reads_f32
};
inline constexpr int precision_rule_count = 25;    // values of PrecisionRule, from 0
NG_API std::string_view name(PrecisionRule rule);  // "seed-allow", ...
NG_API std::string_view text(PrecisionRule rule);  // one sentence
// The inverse of name().
NG_API std::optional<PrecisionRule> parse_precision_rule(std::string_view name);

// One node of the graph, or one value that passes in or out of the regions of If, Loop or Scan.
struct PlanEntry {
  std::string name;            // "conv1"; inside a region "scan1:body:mul"; a value "scan1:in0"
  std::string op;              // "Conv", "ng.ReluGradient"
  PrecisionClass precision{};  // of its op for the narrow format, overrides included
  // f32, f16 or bf16; empty where there is nothing to choose. Of a parameter, f16 or bf16 where it
  // is seen, and without masters kept, in that format alone.
  std::optional<DType> dtype;
  Math math = Math::none;  // of a contraction: f16, bf16, or as is_f32_math()
  PrecisionRule rule{};    // that decided
  std::string cause;       // name of the neighbour that made the rule fire; "" for none
  std::string note;        // further remarks

  bool operator==(const PlanEntry&) const = default;
};

// The format in which each node computes, and why.
struct NG_API PrecisionPlan {
  std::string model;               // fingerprint of the f32 graph it was made for
  std::string model_name;          // for people
  DType narrow = DType::bf16;      // f32: none was asked for
  std::string policy = "lists";    // that made it
  Math f32_math = Math::f32;       // of contractions that stay in f32
  std::string reason{};            // why `narrow` was chosen, where it was by measurement
  std::vector<PlanEntry> entries;  // in the order of the graph
  bool master_weights = true;      // whether narrow parameters have a master in f32
  WeightRounding rounding = WeightRounding::stochastic;  // of those that have none
  // The fingerprint of the network that predicts, whatever sizes its inputs have: what trains it or
  // predicts with it may follow this plan. "" in a plan for one graph alone.
  std::string network{};

  const PlanEntry* find(std::string_view name) const;  // nullptr: none
  bool operator==(const PrecisionPlan&) const = default;
};

// The text form; read_plan and load_plan are its inverse. A line whose dtype or math was changed
// by hand comes back with the rule `edited`. A plan states contracts, not how a machine keeps
// them, so it reads the same on every machine.
NG_API std::string print(const PrecisionPlan& plan);
// For a graph that predicts, a plan by which its network was to be trained is followed: its lines
// decide on the nodes that both graphs have, and its policy on others. Throws ModelError naming the
// line for damaged text, a plan of another model, unknown, missing or repeated nodes, and formats
// that a node cannot have.
NG_API PrecisionPlan read_plan(std::string_view text, const Graph& f32_graph);
NG_API void save_plan(const PrecisionPlan& plan, const std::string& path);  // throws DataError
// Reads a file that save_plan() wrote; throws DataError and what read_plan() throws.
NG_API PrecisionPlan load_plan(const std::string& path, const Graph& f32_graph);
// The narrow format in a plan's header, before there is a graph to read the rest with: f32, f16 or
// bf16. Throws DataError when the file cannot be read, ModelError when it is no plan.
NG_API DType narrow_of_plan(const std::string& path);

// A line in which two plans differ.
struct PlanChange {
  std::string name;           // of the node, or of the header's line
  std::string before, after;  // "f16 math=f16 seed-allow"; "" where one plan has no such node
  bool operator==(const PlanChange&) const = default;
};
// The lines in which two plans differ, in the order of the graph.
NG_API std::vector<PlanChange> diff(const PrecisionPlan& before, const PrecisionPlan& after);

}  // namespace narrowgauge
