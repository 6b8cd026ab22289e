// SPDX-License-Identifier: Apache-2.0
// Why each node computes in its format (the rule, the chain of causes, the casts around it), and
// why each contraction takes its kernel:
//
//   const Explanation why = explain(trainer);
//   std::cout << explanation_text(why.node("conv1"));
//   for (const KernelReason& each : explain_kernels(trainer, {.binding = {{"N", 128}}}))
//     std::cout << each.node << ": " << each.kernel << ' ' << each.why << '\n';
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/contraction_error.h"
#include "narrowgauge/export.h"
#include "narrowgauge/model.h"
#include "narrowgauge/precision.h"
#include "narrowgauge/target.h"

namespace narrowgauge {

// A Cast that the plan adds.
struct CastNote {
  std::string name, value;                   // of the cast, and of the value that it reads
  DType from = DType::f32, to = DType::f32;  // what it reads; what it makes
  std::optional<std::int64_t> bytes;         // read and written; empty while symbols are unbound
};

// Why one node, or one value of a region, has its format.
struct NodeExplanation {
  PlanEntry entry;                      // its line of the plan
  TensorTypes inputs, outputs;          // as the plan makes them; none for values of regions
  std::vector<CastNote> before, after;  // casts that it reads, casts that read it
  std::string reason;  // the rule that decided, in words, with the neighbour that made it fire
  std::vector<std::string> chain;  // a line for the node, then one for each cause behind it
  std::optional<ContractionError> error{};  // of a contraction, where its sizes are known
};

// What the nodes of an Explanation have together.
struct PrecisionSummary {
  std::vector<std::pair<DType, int>> nodes;  // with a choice, by the format they got
  int without_choice = 0;                    // nodes where there was nothing to choose
  int casts = 0;                             // each counted once, regions included
  std::optional<std::int64_t> cast_bytes;    // of one pass over the graph and its regions
  int unlisted = 0;                          // nodes that stay f32 since no list names their op
  std::vector<std::string> unlisted_ops;     // the ops of these nodes, each once, by name
  int forbidden = 0;                         // contractions that TF32 is forbidden to
  int narrow_parameters = 0;                 // parameters that the network sees in a narrow format
};

// A precision plan with the reasons for it, node by node.
struct NG_API Explanation {
  std::string model_name, policy;  // of the plan: its model, for people; one of policy_names()
  DType narrow = DType::f32;       // the narrow format; f32: none was asked for
  std::string reason;              // of the plan: why `narrow` was chosen; "" where it was asked
  std::vector<NodeExplanation> nodes;  // in the plan's order
  PrecisionSummary summary;            // of all nodes
  bool master_weights = true;          // of the plan: whether narrow parameters have masters

  const NodeExplanation& node(std::string_view name) const;  // throws UsageError: no such node
};

// `binding` gives symbolic dimensions their sizes, to count bytes: {{"N", 128}} for batches of 128.
// Throws UsageError for a plan that is not of this graph.
NG_API Explanation explain(const Graph& f32_graph, const PrecisionPlan& plan,
                           const Binding& binding = {});
// The training step of a Trainer.
NG_API Explanation explain(const Trainer& trainer, const Binding& binding = {});
// The predictions of a Model: as its latest Trainer, set_precision() or the loaded file decided.
NG_API Explanation explain(const Model& model, const Binding& binding = {});

// The full explanation of one node, in lines.
NG_API std::string explanation_text(const NodeExplanation& node);
// What the nodes have together, in lines: how many got each format, casts, ops in no list.
NG_API std::string summary_text(const Explanation& explanation);
// One JSON object: model, policy, narrow, reason, nodes, summary.
NG_API std::string explanation_json(const Explanation& explanation);
// One JSON object for a node: its line of the plan, types, reason, chain of causes and casts.
NG_API std::string explanation_json(const NodeExplanation& node);

// The cells for a node in a table.
struct ExplanationRow {
  std::string node, op;     // names
  std::string precision;    // its class, or "-" where no list was asked
  std::string in, out;      // "f16,f32"; with the mode of a contraction "f16 @f16"
  std::string rule, casts;  // name of its rule; "2 in, 1 out": casts before and after it
};
// The row of a node; "-" stands where there are no types.
NG_API ExplanationRow row_of(const NodeExplanation& node);

// A contraction of a compiled graph, with its kernel.
struct KernelReason {
  std::string node, op;    // names
  Math math = Math::none;  // of the contraction, as the precision plan has it
  std::string kernel;      // what runs, for people
  std::string why;    // this one, where others would have taken the node too; "": it is the first
  KernelFacts facts;  // for decisions and comparisons
  double flops = 0;   // of one run: multiplications and additions
};

// The sizes and the machine for which explain_kernels() answers.
struct KernelQuestion {
  Binding binding{};               // the sizes of all symbols
  std::optional<Target> target{};  // nothing: this machine, by its measured choices
};

// Contractions with their kernels, in the order in which they run. For another target kernels are
// only asked: each contraction takes the first that accepts it, and facts that a kernel knows only
// once it is made ready are missing. Any machine can answer for any target. Throws UsageError if a
// symbol has no size.
NG_API std::vector<KernelReason> explain_kernels(const Graph& f32_graph, const PrecisionPlan& plan,
                                                 const KernelQuestion& question);
// Explains the kernels of a Model's predictions.
NG_API std::vector<KernelReason> explain_kernels(const Model& model,
                                                 const KernelQuestion& question);
// Explains the kernels of a Trainer's training step, with its plan.
NG_API std::vector<KernelReason> explain_kernels(const Trainer& trainer,
                                                 const KernelQuestion& question);

// What the lists of mixed precision say of an op.
struct OpClasses {
  std::string op, inputs, outputs;  // "Conv", "x:T, w:T, bias?:T", "y:T"
  PrecisionClass f16{}, bf16{};     // its class in the list of each narrow format
};
NG_API std::vector<OpClasses> op_classes();  // of all ops, in alphabetical order

}  // namespace narrowgauge
