// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/explain.h"

#include <algorithm>
#include <map>
#include <set>
#include <shared_mutex>

#include "api/model/model_implementation.h"
#include "ir/attributes.h"
#include "ops/pointwise/cast.h"
#include "precision/apply.h"
#include "precision/vertices/reasons.h"
#include "precision/vertices/region_links.h"

namespace narrowgauge {

namespace {

std::optional<std::int64_t> cast_bytes(const Graph& graph, const Node& cast,
                                       const Binding& binding) {
  const TensorType& from = graph.type(cast.inputs[0]);
  const TensorType& to = cast.outputs[0].type;
  const Shape shape = bind(from.shape, binding);
  if (!is_known(shape)) return {};
  const std::int64_t elements = element_count(known_dims(shape));
  return bytes_for(elements, from.dtype) + bytes_for(elements, to.dtype);
}

// What surrounds the nodes of one graph once the plan is applied, regions included.
class Surroundings {
 public:
  explicit Surroundings(const Binding& binding) : binding_(binding) {}

  void add_graph(const Graph& before, const Graph& after, const std::string& prefix) {
    for (int i = 0; i < static_cast<int>(after.nodes().size()); ++i) {
      const Node& node = after.node(i);
      const int old = before.find_node(node.full_name());
      if (old < 0) {
        if (node.is<Cast>()) add_cast(before, after, node, prefix);
        continue;
      }
      add_node(before, after, node, prefix);
      if (node.op->region_ports) add_regions(before.node(old), node, prefix);
    }
  }

  NodeExplanation take(const std::string& name) { return std::move(nodes_[name]); }
  std::vector<CastNote> casts;

 private:
  CastNote note(const Graph& after, const Node& cast) const {
    return {cast.full_name(), after.value_name(cast.inputs[0]), after.type(cast.inputs[0]).dtype,
            cast.outputs[0].type.dtype, cast_bytes(after, cast, binding_)};
  }

  void add_cast(const Graph& before, const Graph& after, const Node& cast,
                const std::string& prefix) {
    casts.push_back(note(after, cast));
    const std::string reads = after.producer(cast.inputs[0]).full_name();
    if (before.find_node(reads) >= 0) nodes_[prefix + reads].after.push_back(casts.back());
  }

  void add_node(const Graph& before, const Graph& after, const Node& node,
                const std::string& prefix) {
    NodeExplanation& made = nodes_[prefix + node.full_name()];
    std::set<int> seen;
    for (const Value& value : node.inputs) {
      if (value.is_absent()) continue;
      made.inputs.push_back(after.type(value));
      const Node& producer = after.producer(value);
      const bool inserted = producer.is<Cast>() && before.find_node(producer.full_name()) < 0;
      if (inserted && seen.insert(value.node).second) made.before.push_back(note(after, producer));
    }
    for (const ValueInfo& output : node.outputs) made.outputs.push_back(output.type);
    made.error = contraction_error(after, node, node.math, binding_);
  }

  void add_regions(const Node& before, const Node& after, const std::string& prefix) {
    const auto names = region_names(before);
    const auto old_regions = regions_of(before), new_regions = regions_of(after);
    for (std::size_t r = 0; r < names.size(); ++r)
      add_graph(*old_regions[r], *new_regions[r], region_prefix(prefix, before, names[r]));
  }

  const Binding& binding_;
  std::map<std::string, NodeExplanation> nodes_;
};

PrecisionSummary summarize(const std::vector<NodeExplanation>& nodes,
                           const std::vector<CastNote>& casts) {
  PrecisionSummary summary;
  std::map<DType, int> by_format;
  std::set<std::string> unlisted;
  for (const NodeExplanation& node : nodes) {
    if (node.entry.dtype && node.entry.op == record_of<StateValue>().full_name())
      ++summary.narrow_parameters;
    else if (node.entry.dtype)
      ++by_format[*node.entry.dtype];
    else
      ++summary.without_choice;
    if (tf32_is_forbidden_to(node.entry)) ++summary.forbidden;
    if (node.entry.rule != PrecisionRule::unlisted) continue;
    ++summary.unlisted;
    unlisted.insert(node.entry.op);
  }
  summary.nodes.assign(by_format.begin(), by_format.end());
  summary.unlisted_ops.assign(unlisted.begin(), unlisted.end());
  summary.casts = static_cast<int>(casts.size());
  summary.cast_bytes = 0;
  for (const CastNote& cast : casts)
    summary.cast_bytes = cast.bytes && summary.cast_bytes
                             ? std::optional(*summary.cast_bytes + *cast.bytes)
                             : std::nullopt;
  return summary;
}

}  // namespace

const NodeExplanation& Explanation::node(std::string_view name) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const auto& node) { return node.entry.name == name; });
  require(found != nodes.end(), "explain: '", model_name, "' has no node '", name, "'");
  return *found;
}

Explanation explain(const Graph& f32_graph, const PrecisionPlan& plan, const Binding& binding) {
  const Graph applied = apply(f32_graph, plan);
  Surroundings surroundings(binding);
  surroundings.add_graph(f32_graph, applied, "");
  Explanation result{plan.model_name,    plan.policy, plan.narrow, plan.reason, {}, {},
                     plan.master_weights};
  for (const PlanEntry& entry : plan.entries) {
    NodeExplanation node = surroundings.take(entry.name);
    node.entry = entry;
    node.reason = reason(plan, entry);
    node.chain = reason_chain(plan, entry);
    result.nodes.push_back(std::move(node));
  }
  result.summary = summarize(result.nodes, surroundings.casts);
  return result;
}

Explanation explain(const Trainer& trainer, const Binding& binding) {
  return explain(trainer.graph(), trainer.plan(), binding);
}

Explanation explain(const Model& model, const Binding& binding) {
  const Model::Implementation& held = ModelAccess::of(model);
  const std::shared_lock together(held.in_use);
  const Graph graph = held.graph(Mode::evaluate);
  return explain(graph, held.evaluation_plan(graph), binding);
}

}  // namespace narrowgauge
