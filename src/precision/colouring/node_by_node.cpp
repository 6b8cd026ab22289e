// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/node_by_node.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ops/pointwise/cast.h"
#include "precision/colouring/autocast.h"
#include "precision/plans/fingerprint.h"
#include "precision/plans/parameters.h"
#include "precision/plans/plan_text.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

FormatsSoFar::FormatsSoFar(std::span<const PrecisionVertex> vertices,
                           const std::vector<PlanEntry>& entries)
    : vertices_(vertices), entries_(entries) {
  for (std::size_t v = 0; v < vertices.size(); ++v)
    if (vertices[v].kind != PrecisionVertex::Kind::link) places_.emplace(vertices[v].node, v);
}

DType FormatsSoFar::format_of(const Graph& graph, Value value) const {
  const Node& producer = graph.producer(value);
  const bool chosen =
      producer.is<Cast>() || producer.op->output_port(value.output).format == PortFormat::chosen;
  const auto place = places_.find(&producer);
  const bool decided = chosen && place != places_.end() && place->second < entries_.size();
  const std::optional<DType> dtype = decided ? entries_[place->second].dtype : std::nullopt;
  return dtype.value_or(graph.type(value).dtype);
}

DType FormatsSoFar::widest_read_by(const PrecisionVertex& vertex) const {
  std::optional<DType> widest;
  if (vertex.kind != PrecisionVertex::Kind::node) return DType::f32;
  for (const auto& [i, value] : enumerate(vertex.node->inputs)) {
    const bool counts = !value.is_absent() &&
                        vertex.node->op->input_port(i).format == PortFormat::chosen &&
                        !vertex.graph->producer(value).is<Constant>();
    if (!counts) continue;
    const DType format = format_of(*vertex.graph, value);
    widest = widest.value_or(format) == format ? format : DType::f32;
  }
  return widest.value_or(DType::f32);
}

namespace {

bool is_on(std::span<const std::string_view> list, const OpRecord& op) {
  const std::string full = op.full_name();
  std::string_view name = full;
  if (name.starts_with("ng.") && name.ends_with("Gradient")) {
    name.remove_prefix(3);
    name.remove_suffix(std::string_view("Gradient").size());
  }
  return std::ranges::find(list, name) != list.end() || std::ranges::find(list, full) != list.end();
}

PrecisionClass class_on(const DispatchLists& lists, const PrecisionVertex& vertex, DType narrow) {
  const OpRecord& op = *vertex.node->op;
  if (is_on(lists.f32, op)) return PrecisionClass::deny;
  const Precision& usual = op.info.precision;
  const bool allowed = (narrow == DType::f16 ? usual.f16 : usual.bf16) == PrecisionClass::allow;
  return allowed || is_on(lists.narrow, op) ? PrecisionClass::allow : PrecisionClass::clear;
}

}  // namespace

FormatChoice dispatch(const PrecisionVertex& vertex, DType narrow, const DispatchLists& lists,
                      const FormatsSoFar& formats, std::optional<PrecisionClass> override_class) {
  const PrecisionClass precision = override_class.value_or(class_on(lists, vertex, narrow));
  if (precision == PrecisionClass::allow)
    return {narrow, PrecisionRule::seed_allow, precision, concat(lists.whose, " list")};
  if (precision == PrecisionClass::deny)
    return {DType::f32, PrecisionRule::deny_list, precision, concat(lists.whose, " list")};
  const DType widest = formats.widest_read_by(vertex);
  return {widest, widest == DType::f32 ? PrecisionRule::reads_f32 : PrecisionRule::reads_narrow,
          precision};
}

namespace {

class NodeByNode {
 public:
  NodeByNode(const Graph& graph, const PrecisionRequest& wanted, const Decide& decide)
      : graph_(graph),
        wanted_(wanted),
        decide_(decide),
        vertices_(precision_vertices(graph)),
        formats_(vertices_, plan_.entries),
        overrides_(wanted, vertices_) {
    require(is_narrow(wanted.narrow), "precision: the narrow format must be f16 or bf16, got ",
            wanted.narrow);
    require(is_f32_math(wanted.f32_math), "precision: contractions in f32 are ", f32_math_words,
            ", got ", wanted.f32_math);
  }

  PrecisionPlan plan() {
    plan_.model = fingerprint(graph_);
    plan_.model_name = graph_.name();
    plan_.narrow = wanted_.narrow;
    plan_.policy = wanted_.policy;
    plan_.f32_math = wanted_.f32_math;
    for (std::size_t v = 0; v < vertices_.size(); ++v)
      plan_.entries.push_back(entry(vertices_[v], overrides_.of(v)));
    return std::move(plan_);
  }

 private:
  PlanEntry entry(const PrecisionVertex& vertex, const Override* override_of) const {
    PlanEntry result;
    result.name = vertex.name;
    result.op = vertex.node->op->full_name();
    if (const auto nothing = nothing_to_choose(vertex)) {
      result.rule = *nothing;
    } else {
      const FormatChoice choice = supported(vertex, choose(vertex, override_of));
      result.dtype = choice.dtype;
      result.rule = choice.rule;
      result.precision = choice.precision;
      result.note = choice.note;
    }
    result.math = math_contract(vertex, result.dtype, wanted_.f32_math);
    return result;
  }

  FormatChoice choose(const PrecisionVertex& vertex, const Override* override_of) const {
    if (override_of && override_of->dtype)
      return {*override_of->dtype, PrecisionRule::override_by_name, PrecisionClass::unlisted,
              override_of->text};
    if (vertex.preserved) return {DType::f32, PrecisionRule::preserved_output};
    if (vertex.kind == PrecisionVertex::Kind::cast) return {DType::f32, PrecisionRule::pinned_type};
    if (vertex.node->autocast) return choose_in_scope(vertex, formats_);
    std::optional<PrecisionClass> overridden;
    if (override_of) overridden = override_of->precision;
    FormatChoice choice = decide_(vertex, formats_, overridden);
    if (overridden) choice.note = override_of->text;
    return choice;
  }

  static FormatChoice supported(const PrecisionVertex& vertex, FormatChoice choice) {
    if (choice.dtype == DType::f32 || vertex.takes(choice.dtype)) return choice;
    require(choice.rule != PrecisionRule::override_by_name, "precision: override '", choice.note,
            "': ", vertex.node->op->full_name(), " of node '", vertex.name, "' does not take ",
            choice.dtype);
    return {DType::f32, PrecisionRule::dtype_not_supported, choice.precision,
            vertex.why_no_kernel(choice.dtype)};
  }

  const Graph& graph_;
  const PrecisionRequest& wanted_;
  const Decide& decide_;
  std::vector<PrecisionVertex> vertices_;
  PrecisionPlan plan_;
  FormatsSoFar formats_;
  MatchedOverrides overrides_;
};

}  // namespace

PrecisionPlan plan_node_by_node(const Graph& f32_graph, const PrecisionRequest& wanted,
                                const Decide& decide) {
  return NodeByNode(f32_graph, wanted, decide).plan();
}

}  // namespace narrowgauge
