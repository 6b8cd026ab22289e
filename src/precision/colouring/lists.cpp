// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/lists.h"

#include "precision/colouring/colouring.h"
#include "precision/plans/fingerprint.h"
#include "precision/plans/overrides.h"
#include "precision/plans/parameters.h"
#include "precision/plans/plan_text.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

using Kind = PrecisionVertex::Kind;

class Lists {
 public:
  Lists(const Graph& graph, const PrecisionRequest& wanted, const NarrowNodes& narrow_nodes)
      : graph_(graph),
        wanted_(wanted),
        narrow_nodes_(narrow_nodes),
        vertices_(colouring_vertices(graph)),
        overrides_(wanted, vertices_) {
    const DType narrow = wanted.narrow;
    require(is_narrow(narrow), "precision: the narrow format must be f16 or bf16, got ", narrow);
    require(is_f32_math(wanted.f32_math), "precision: contractions in f32 are ", f32_math_words,
            ", got ", wanted.f32_math);
  }

  PrecisionPlan plan() {
    std::vector<Candidate> candidates;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      const int owner = vertices_[v].owner;
      candidates.push_back(owner < 0 ? candidate(v)
                                     : of_other_type(candidates[static_cast<std::size_t>(owner)]));
    }
    const auto colours = colour(vertices_, candidates);
    PrecisionPlan plan;
    plan.model = fingerprint(graph_);
    plan.model_name = graph_.name();
    plan.narrow = wanted_.narrow;
    plan.policy = wanted_.policy;
    plan.f32_math = wanted_.f32_math;
    for (std::size_t v = 0; v < vertices_.size(); ++v)
      if (vertices_[v].owner < 0) plan.entries.push_back(entry(v, candidates[v], colours[v]));
    return plan;
  }

 private:
  PrecisionClass list_class(std::size_t v) const {
    const PrecisionVertex& vertex = vertices_[v];
    if (vertex.kind == Kind::link) return PrecisionClass::clear;
    if (vertex.kind != Kind::node) return PrecisionClass::unlisted;
    const Precision& lists = vertex.node->op->info.precision;
    return wanted_.narrow == DType::f16 ? lists.f16 : lists.bf16;
  }

  Candidate candidate(std::size_t v) {
    const PrecisionVertex& vertex = vertices_[v];
    Candidate result{list_class(v), {}, false, ""};
    const Override* override_of = overrides_.of(v);
    const bool is_named_cast =
        vertex.kind == Kind::cast && override_of && is_by_name(*override_of, vertex);
    if (override_of && override_of->precision && !is_named_cast) {
      result.precision = *override_of->precision;
      result.note = override_of->text;
    }
    if (const auto nothing = nothing_to_choose(vertex)) {
      result.refusal = *nothing;
      result.note.clear();
      return result;
    }
    if (override_of && override_of->dtype)
      force(v, *override_of, result);
    else if (vertex.node->autocast)
      result.refusal = PrecisionRule::autocast;
    else
      refuse(vertex, result);
    return result;
  }

  // Ports of another type have the class of their node but no choice of format.
  static Candidate of_other_type(const Candidate& owner) {
    const PrecisionClass precision = owner.forced ? PrecisionClass::allow : owner.precision;
    return {precision, PrecisionRule::pinned_type, false, ""};
  }

  void force(std::size_t v, const Override& rule, Candidate& result) {
    const PrecisionVertex& vertex = vertices_[v];
    const DType dtype = *rule.dtype;
    result.note = rule.text;
    if (dtype == DType::f32 || dtype != wanted_.narrow)
      result.refusal = PrecisionRule::override_by_name;
    else
      result.forced = true;
    if (dtype == DType::f32) return;
    require(vertex.takes(dtype), "precision: override '", rule.text,
            "': ", vertex.node->op->full_name(), " of node '", vertex.name, "' does not take ",
            dtype);
  }

  void refuse(const PrecisionVertex& vertex, Candidate& result) const {
    const DType narrow = wanted_.narrow;
    if (vertex.preserved) result.refusal = PrecisionRule::preserved_output;
    const bool may_be_narrow = result.precision == PrecisionClass::allow ||
                               result.precision == PrecisionClass::infer ||
                               result.precision == PrecisionClass::clear;
    if (!may_be_narrow) return;
    if (!vertex.takes(narrow)) {
      result.refusal = PrecisionRule::dtype_not_supported;
      result.note = vertex.why_no_kernel(narrow);
    } else if (!result.refusal && narrow_nodes_.may_be && !narrow_nodes_.may_be(vertex)) {
      result.refusal = PrecisionRule::not_requested;
      result.note = narrow_nodes_.text;
    }
  }

  PlanEntry entry(std::size_t v, const Candidate& candidate, const Colour& colour) const {
    const PrecisionVertex& vertex = vertices_[v];
    PlanEntry result;
    result.name = vertex.name;
    result.op = vertex.node->op->full_name();
    result.precision = candidate.precision;
    result.rule = colour.rule;
    result.note = colour.note.empty() ? candidate.note : colour.note;
    if (colour.cause >= 0) result.cause = vertices_[static_cast<std::size_t>(colour.cause)].name;
    if (!nothing_to_choose(vertex)) {
      result.dtype = colour.narrow ? wanted_.narrow : DType::f32;
      if (colour.rule == PrecisionRule::override_by_name) result.dtype = overrides_.of(v)->dtype;
    }
    result.math = math_contract(vertex, result.dtype, wanted_.f32_math);
    return result;
  }

  const Graph& graph_;
  const PrecisionRequest& wanted_;
  const NarrowNodes& narrow_nodes_;
  std::vector<PrecisionVertex> vertices_;
  MatchedOverrides overrides_;
};

}  // namespace

PrecisionPlan colour_by_lists(const Graph& f32_graph, const PrecisionRequest& wanted,
                              const NarrowNodes& narrow_nodes) {
  return Lists(f32_graph, wanted, narrow_nodes).plan();
}

}  // namespace narrowgauge
