// SPDX-License-Identifier: Apache-2.0
#include "precision/plans/parameters.h"

#include <set>

#include "base/enumerate.h"
#include "base/name_index.h"
#include "ops/normalization/batch_normalization.h"
#include "precision/plans/overrides.h"
#include "precision/plans/plan_text.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

bool is_parameter(const PrecisionVertex& vertex) {
  if (!vertex.node->is<StateValue>()) return false;
  const State* const state = vertex.graph->find_state(vertex.node->name);
  return state && state->role == Role::parameter && state->type.dtype == DType::f32;
}

namespace {

// Who reads the parameters of a graph, the update aside.
class Readers {
 public:
  explicit Readers(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes()) {
      if (node.phase == Phase::update) continue;
      for (const auto& [i, value] : enumerate(node.inputs))
        if (!value.is_absent() && graph.producer(value).is<StateValue>())
          of_[graph.producer(value).name].push_back({&node, i});
    }
  }

  // The narrow format in which all read it; nothing where one reads f32 or nobody reads it.
  std::optional<DType> narrow_format(const std::string& parameter,
                                     const NameIndex<PlanEntry>& plan) {
    std::set<DType> formats;
    for (const auto& [node, port] : of_[parameter]) {
      const PortFormat format = node->op->input_port(port).format;
      if (format == PortFormat::as_it_comes) continue;
      const PlanEntry* const entry = plan.find(node->full_name());
      const bool chosen = format == PortFormat::chosen && entry && entry->dtype;
      formats.insert(chosen ? *entry->dtype : DType::f32);
    }
    if (formats.size() != 1 || !is_narrow(*formats.begin())) return {};
    return *formats.begin();
  }

  bool is_of_batch_norm(const std::string& parameter) {
    for (const auto& [node, port] : of_[parameter])
      if (node->is<BatchNormalization>()) return true;
    return false;
  }

 private:
  const Graph& graph_;
  std::map<std::string, std::vector<std::pair<const Node*, int>>> of_;
};

void set_format(PlanEntry& entry, std::optional<DType> format, PrecisionRule rule,
                const std::string& note) {
  entry.rule = rule;
  entry.note = note;
  entry.dtype.reset();
  if (format && is_narrow(*format)) entry.dtype = format;
}

}  // namespace

void keep_parameters_narrow(PrecisionPlan& plan, const Graph& f32_graph,
                            const PrecisionRequest& wanted) {
  plan.master_weights = false;
  plan.rounding = wanted.rounding;
  const std::vector<PrecisionVertex> vertices = precision_vertices(f32_graph);
  const MatchedOverrides overrides(wanted, vertices);
  Readers readers(f32_graph);
  const NameIndex entries(plan.entries);
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    PlanEntry& entry = plan.entries[v];
    if (!is_parameter(vertices[v])) continue;
    const Override* const rule = overrides.of(v);
    if (rule && rule->dtype)
      set_format(entry, rule->dtype, PrecisionRule::override_by_name, rule->text);
    else if (const auto format = readers.narrow_format(entry.name, entries); format && !entry.dtype)
      set_format(entry, format, PrecisionRule::kept_narrow, "");
  }
}

void cast_parameters(PrecisionPlan& plan, const Graph& f32_graph, const PrecisionRequest& wanted) {
  Readers readers(f32_graph);
  const std::vector<PrecisionVertex> vertices = precision_vertices(f32_graph);
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    PlanEntry& entry = plan.entries[v];
    if (!is_parameter(vertices[v])) continue;
    if (wanted.keep_batch_norm_f32 && readers.is_of_batch_norm(entry.name)) continue;
    set_format(entry, wanted.narrow, PrecisionRule::kept_narrow, "");
  }
}

std::map<std::string, DType, std::less<>> kept_formats(const PrecisionPlan& plan) {
  std::map<std::string, DType, std::less<>> formats;
  if (plan.master_weights) return formats;
  const std::string state = record_of<StateValue>().full_name();
  for (const PlanEntry& entry : plan.entries)
    if (entry.op == state && entry.dtype) formats.emplace(entry.name, *entry.dtype);
  return formats;
}

}  // namespace narrowgauge
