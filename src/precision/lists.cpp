// SPDX-License-Identifier: Apache-2.0
#include "precision/lists.h"

#include <algorithm>
#include <map>

#include "precision/colouring.h"
#include "precision/fingerprint.h"
#include "precision/overrides.h"
#include "precision/plan_text.h"

namespace narrowgauge {

namespace {

using Kind = PrecisionVertex::Kind;

class Lists {
 public:
  Lists(const Graph& graph, const ListOptions& options)
      : graph_(graph), options_(options), vertices_(colouring_vertices(graph)) {
    const DType narrow = options.request.narrow;
    require(narrow == DType::f16 || narrow == DType::bf16,
            "precision: the narrow format must be f16 or bf16, got ", narrow);
    require(is_f32_math(options.request.f32_math), "precision: contractions in f32 are ",
            f32_math_words, ", got ", options.request.f32_math);
    for (const std::string& text : options.request.overrides)
      overrides_.push_back(parse_override(text));
    matched_ = match_overrides(overrides_, vertices_);
  }

  PrecisionPlan plan() {
    std::vector<Candidate> candidates;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      const int owner = vertices_[v].owner;
      candidates.push_back(owner < 0 ? candidate(v)
                                     : of_other_type(candidates[static_cast<std::size_t>(owner)]));
    }
    const auto colours = colour(vertices_, candidates, options_.infer_extension);
    PrecisionPlan plan;
    plan.model = fingerprint(graph_);
    plan.model_name = graph_.name();
    plan.narrow = options_.request.narrow;
    plan.f32_math = options_.request.f32_math;
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
    return options_.request.narrow == DType::f16 ? lists.f16 : lists.bf16;
  }

  Candidate candidate(std::size_t v) {
    const PrecisionVertex& vertex = vertices_[v];
    Candidate result{list_class(v), {}, false, ""};
    const Override* override_of = matched_[v];
    const bool by_node = override_of && override_of->pattern == vertex.name;
    if (override_of && override_of->precision) {
      require(!by_node || vertex.kind != Kind::cast, "precision: override '", override_of->text,
              "': a cast has no class, only a format");
      result.precision = *override_of->precision;
      result.note = override_of->text;
    }
    if (const auto nothing = nothing_to_choose(vertex)) {
      result.refusal = *nothing;
      require(!by_node, "precision: override '", override_of ? override_of->text : "",
              "': nothing to choose, ", text(*nothing));
      result.note.clear();
      return result;
    }
    if (override_of && override_of->dtype)
      force(v, *override_of, result);
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
    if (dtype == DType::f32 || dtype != options_.request.narrow)
      result.refusal = PrecisionRule::override_by_name;
    else
      result.forced = true;
    if (dtype == DType::f32) return;
    require(vertex.takes(dtype), "precision: override '", rule.text,
            "': ", vertex.node->op->full_name(), " of node '", vertex.name, "' does not take ",
            dtype);
    require(has_kernel(vertex, dtype), "precision: override '", rule.text,
            "': no kernel here computes node '", vertex.name, "' in ", dtype);
  }

  bool has_kernel(const PrecisionVertex& vertex, DType dtype) const {
    return !options_.has_kernel || vertex.kind != Kind::node ||
           options_.has_kernel(*vertex.node, dtype);
  }

  void refuse(const PrecisionVertex& vertex, Candidate& result) const {
    const DType narrow = options_.request.narrow;
    if (vertex.preserved) result.refusal = PrecisionRule::preserved_output;
    const bool may_be_narrow = result.precision == PrecisionClass::allow ||
                               result.precision == PrecisionClass::infer ||
                               result.precision == PrecisionClass::clear;
    if (!may_be_narrow) return;
    if (!vertex.takes(narrow))
      result.refusal = PrecisionRule::dtype_not_supported;
    else if (!result.refusal && !has_kernel(vertex, narrow))
      result.refusal = PrecisionRule::no_narrow_kernel;
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
      result.dtype = colour.narrow ? options_.request.narrow : DType::f32;
      if (colour.rule == PrecisionRule::override_by_name) result.dtype = matched_[v]->dtype;
    }
    result.math = math_contract(vertex, result.dtype, options_.request.f32_math);
    return result;
  }

  const Graph& graph_;
  const ListOptions& options_;
  std::vector<PrecisionVertex> vertices_;
  std::vector<Override> overrides_;
  std::vector<const Override*> matched_;
};

// "conv1 (Conv): no kernel ...; fc (Gemm): ...", at most five; or a list of the ops there are.
std::string why_nothing(const PrecisionPlan& plan) {
  std::string allow_ops;
  std::map<std::string, std::pair<int, std::string_view>> others;
  int listed = 0;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.precision == PrecisionClass::allow) {
      if (++listed <= 5)
        allow_ops +=
            concat(listed == 1 ? "" : "; ", entry.name, " (", entry.op, "): ", text(entry.rule));
      continue;
    }
    if (entry.rule == PrecisionRule::source || entry.rule == PrecisionRule::region) continue;
    auto& [count, precision] = others[entry.op];
    ++count;
    precision = name(entry.precision);
  }
  if (listed > 5) allow_ops += concat("; and ", listed - 5, " more");
  if (listed > 0) return allow_ops;
  std::string result = "no op of the class allow; there are ";
  if (others.empty()) return result + "no ops at all";
  for (bool first = true; const auto& [op, counted] : others) {
    result += concat(first ? "" : ", ", counted.first, ' ', op, " (", counted.second, ')');
    first = false;
  }
  return result;
}

}  // namespace

PrecisionPlan f32_plan(const Graph& f32_graph, Math f32_math) {
  require(is_f32_math(f32_math), "precision: contractions in f32 are ", f32_math_words, ", got ",
          f32_math);
  PrecisionPlan plan;
  plan.model = fingerprint(f32_graph);
  plan.model_name = f32_graph.name();
  plan.narrow = DType::f32;
  plan.policy = "f32";
  plan.f32_math = f32_math;
  for (const PrecisionVertex& vertex : precision_vertices(f32_graph)) {
    PlanEntry entry;
    entry.name = vertex.name;
    entry.op = vertex.node->op->full_name();
    const auto nothing = nothing_to_choose(vertex);
    entry.rule = nothing.value_or(PrecisionRule::not_requested);
    if (!nothing) entry.dtype = DType::f32;
    entry.math = math_contract(vertex, entry.dtype, f32_math);
    plan.entries.push_back(std::move(entry));
  }
  return plan;
}

PrecisionPlan colour_by_lists(const Graph& f32_graph, const ListOptions& options) {
  return Lists(f32_graph, options).plan();
}

PrecisionPlan plan_by_lists(const Graph& f32_graph, const ListOptions& options) {
  PrecisionPlan plan = colour_by_lists(f32_graph, options);
  const bool changes =
      std::any_of(plan.entries.begin(), plan.entries.end(),
                  [](const PlanEntry& entry) { return entry.dtype && *entry.dtype != DType::f32; });
  require(changes, "mixed precision in ", plan.narrow, " changes nothing in '", plan.model_name,
          "': ", why_nothing(plan));
  return plan;
}

}  // namespace narrowgauge
