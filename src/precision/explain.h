// SPDX-License-Identifier: Apache-2.0
// Explains why each node computes in its format: the rule, the chain of causes, casts around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/precision.h"
#include "precision/contraction_error.h"

namespace narrowgauge {

// "deny ReduceSum 'loss/sum' reaches it through 'add_3'".
std::string reason(const PrecisionPlan& plan, const PlanEntry& entry);
// Whether a contraction would round f32 values to TF32 but computes in ieee because that is
// forbidden.
bool tf32_is_forbidden_to(const PlanEntry& entry);
// A note in words about forbidden TF32 and about what a simulated unit does; "" if there is none.
std::string math_note(const PlanEntry& entry);
// One line for the entry and one for each cause behind it, up to the first.
std::vector<std::string> reason_chain(const PrecisionPlan& plan, const PlanEntry& entry);

// A Cast that the plan adds.
struct CastNote {
  std::string name, value;  // of the cast, and of the value that it reads
  DType from = DType::f32, to = DType::f32;
  std::optional<std::int64_t> bytes;  // read and written; empty while symbols are unbound
};

struct NodeExplanation {
  PlanEntry entry;
  TensorTypes inputs, outputs;          // as the plan makes them; none for values of regions
  std::vector<CastNote> before, after;  // casts that it reads, casts that read it
  std::string reason;
  std::vector<std::string> chain;
  std::optional<ContractionError> error{};  // of a contraction, where its sizes are known
};

struct PrecisionSummary {
  std::vector<std::pair<DType, int>> nodes;  // with a choice, by the format they got
  int without_choice = 0;                    // nodes where there was nothing to choose
  int casts = 0;                             // each counted once, regions included
  std::optional<std::int64_t> cast_bytes;    // of one pass over the graph and its regions
  int unlisted = 0;                          // nodes that stay f32 since no list names their op
  std::vector<std::string> unlisted_ops;
  int forbidden = 0;  // contractions that TF32 is forbidden to
};

struct Explanation {
  std::string model_name, policy;
  DType narrow = DType::f32;
  std::string reason;  // of the plan: why `narrow` was chosen; "" where it was asked
  std::vector<NodeExplanation> nodes;  // in the plan's order
  PrecisionSummary summary;

  const NodeExplanation& node(std::string_view name) const;  // throws UsageError: no such node
};

// `binding` gives symbolic dimensions their sizes, to count bytes. Throws as apply() does.
Explanation explain(const Graph& f32_graph, const PrecisionPlan& plan, const Binding& binding = {});

// The cells for a node in a table.
struct ExplanationRow {
  std::string node, op;
  std::string precision;  // its class, or "-" where no list was asked
  std::string in, out;    // "f16,f32"; with the mode of a contraction "f16 @f16"
  std::string rule, casts;
};
ExplanationRow row_of(const NodeExplanation& node);
// The full explanation of one node.
std::string explanation_text(const NodeExplanation& node);
std::string summary_text(const Explanation& explanation);
// One JSON object: model, policy, narrow, nodes, summary. The second form explains one node.
std::string explanation_json(const Explanation& explanation);
std::string explanation_json(const NodeExplanation& node);

}  // namespace narrowgauge
